// main.cpp — the main of every test program: its temporary folder is one of its own, and a program
// that leaves anything there has failed.
#define CATCH_CONFIG_RUNNER
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/scratch_folder.hpp"

int main(int argc, char** argv) {
    const ukemi::ScratchFolder temporary;
    ::setenv("TMPDIR", temporary.path().c_str(), 1);  // for the programs that tests start, too
    const int failed = Catch::Session().run(argc, argv);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary.path())) {
        std::fprintf(stderr, "left in the temporary folder: %s\n", entry.path().c_str());
    }
    return failed == 0 && temporary.entries() > 0 ? 1 : failed;
}
