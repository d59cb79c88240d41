// input_files_test.cpp — what is read is not replaced, by whatever name.
#include "base/input_files.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

TEST_CASE("input files: who comes second with the same file is refused", "[input_files]") {
    namespace fs = std::filesystem;
    const ScratchFolder scratch;
    const fs::path one = scratch.file("one", "first");
    const fs::path link = scratch / "link";
    fs::create_symlink("one", link);
    const fs::path hard = scratch / "hard";
    fs::create_hard_link(one, hard);
    const InputFiles inputs;
    {
        const ReplacedFile unread("unread", one);
        unread.check();
        CHECK_THROWS_WITH(read_file(link), Catch::StartsWith("unread: is read here"));
        const ReplacedFile fresh("fresh", scratch / "fresh");  // not there yet
        fresh.check();
    }
    CHECK(read_file(link) == "first");
    for (const fs::path& name : {one, link, hard, scratch.path() / "." / "one"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(ReplacedFile("again", name), InputError);
    }
    const ReplacedFile other("other", scratch.file("other", "second"));
    other.check();
}

TEST_CASE("input files: only while one lives", "[input_files]") {
    const ScratchFolder scratch;
    const auto one = scratch.file("one", "first");
    {
        const InputFiles inputs;
        read_file(one);
    }
    const ReplacedFile replaced("one", one);
    CHECK(read_file(one) == "first");
    replaced.check();
}

}  // namespace ukemi
