// sweep_ranks_test.cpp — `ukemi sweep` on more than one machine: in shards, in ranks under mpirun,
// as a Slurm array: always the database of one sweep in one piece.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>

#include "tests/cli/child.hpp"
#include "tests/cli/swept.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

// Under OpenMPI; nothing where it is not there or cannot start, or the program was built without
// it.
std::optional<Ran> run_ranks(const fs::path& folder, std::vector<std::string> arguments) {
    constexpr const char* mpirun = "/usr/bin/mpirun";
    if (!fs::exists(mpirun)) return std::nullopt;
    for (const char* allowed : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
        setenv(allowed, "1", 0);
    }
    arguments.insert(arguments.begin(), "--oversubscribe");
    if (run_program(mpirun, folder, {"--oversubscribe", "-np", "2", "true"}).code != 0) return {};
    Ran ran = run_program(mpirun, folder, std::move(arguments));
    for (const char* not_here : {"this build has no MPI", "MPI_INIT"}) {
        if (ran.err.find(not_here) != std::string::npos) return {};
    }
    return ran;
}

}  // namespace

TEST_CASE("ukemi merge: shards make the same database as a sweep in one piece", "[cli][sweep]") {
    const ScratchFolder scratch;
    const auto sweep = [&](const std::string& file, std::vector<std::string> more) {
        more.insert(more.begin(), {"sweep", shipped("market/demo.json").string(), "--vary",
                                   "/job/work=100 h,200 h", "--seeds", "1..100", "--out", file});
        REQUIRE(run_ukemi(scratch.path(), more).code == 0);
    };
    constexpr std::int64_t runs = 2 * 100 * 6;
    sweep("whole.db", {"-j", "2"});
    const std::vector<std::string> whole = stored_rows(scratch / "whole.db");
    REQUIRE(std::ssize(whole) == runs);
    std::vector<std::string> merge{"merge", "merged.db"};
    std::int64_t largest = 0;
    for (int shard = 1; shard <= 4; ++shard) {
        const std::string part = fmt::format("part-{}.db", shard);
        sweep(part, {"--shard", fmt::format("{}/4", shard)});
        largest = std::max(largest, stored_count(scratch / part));
        merge.push_back(part);
    }
    CHECK(largest <= runs / 4 + runs / 40);
    REQUIRE(run_ukemi(scratch.path(), merge).code == 0);
    CHECK(stored_rows(scratch / "merged.db") == whole);
    // What is there is not added again.
    const Ran again = run_ukemi(scratch.path(), {"merge", "merged.db", "whole.db"});
    CHECK(again.out == "merged.db: 0 runs added from whole.db\n");
    CHECK(stored_rows(scratch / "merged.db") == whole);
}

TEST_CASE("ukemi sweep: ranks under mpirun make the same database as one process", "[cli][sweep]") {
    const ScratchFolder scratch;
    const auto of = [&](std::int64_t seeds, const char* file, std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"--out", file});
        return endless_sweep(seeds, std::move(more));
    };
    const auto in_ranks = [](const char* count, std::vector<std::string> sweep) {
        sweep.insert(sweep.begin(), {"-np", count, UKEMI_BINARY});
        return sweep;
    };
    REQUIRE(run_ukemi(scratch.path(), of(10, "ranks.db")).code == 0);
    const auto three = run_ranks(scratch.path(), in_ranks("3", of(200, "ranks.db", {"--resume"})));
    if (!three) {
        WARN("skipped: no OpenMPI that starts here");
        return;
    }
    INFO(three->err);
    REQUIRE(three->code == 0);
    CHECK_THAT(three->out, Catch::StartsWith("ranks.db: 1140 runs made in ") &&
                               Catch::Contains(", 60 were there already"));
    REQUIRE(run_ukemi(scratch.path(), of(200, "whole.db")).code == 0);
    CHECK(stored_rows(scratch / "ranks.db") == stored_rows(scratch / "whole.db"));
    const auto two = run_ranks(scratch.path(), in_ranks("2", of(200, "two.db")));
    REQUIRE(two->code == 0);
    CHECK(stored_rows(scratch / "two.db") == stored_rows(scratch / "whole.db"));
    fs::remove(scratch / "two.db");

    // What the first has to complain of, and what another.
    const auto twice = run_ranks(scratch.path(), in_ranks("2", of(200, "ranks.db")));
    CHECK(twice->code == 2);
    CHECK_THAT(twice->err, Catch::StartsWith("ukemi: ranks.db: holds 1200 runs already"));
    const auto of_two = [&](std::vector<std::string> second) {
        std::vector<std::string> both = in_ranks("1", of(200, "two.db"));
        both.emplace_back(":");
        for (std::string& argument : in_ranks("1", std::move(second))) {
            both.push_back(std::move(argument));
        }
        const auto ran = run_ranks(scratch.path(), both);
        CHECK(ran->code == 2);
        fs::remove(scratch / "two.db");
        return ran->err;
    };
    CHECK_THAT(of_two(of(200, "two.db", {"--set", "/job/work=7 h"})),
               Catch::Contains("ukemi: rank 1: reads other files than rank 0"));
    CHECK_THAT(of_two(of(200, "two.db", {"--set", "/job/wrok=7 h"})),
               Catch::Contains("ukemi: rank 1: ") && Catch::Contains("unknown key \"wrok\""));
}

TEST_CASE("ukemi sweep: a Slurm array makes parts of one database", "[cli][sweep]") {
    const ScratchFolder scratch;
    const fs::path source(UKEMI_SOURCE_DIR);
    fs::create_directory(scratch / "slurm");
    setenv("UKEMI", UKEMI_BINARY, 1);
    const Ran ran = run_program(
        "/bin/bash", scratch.path(),
        {source / "tests/cli/slurm_sweep.sh", scratch / "slurm", "sbatch", "--wait", "--array=1-3",
         source / "examples/sweep_array.sbatch", shipped("market/demo.json"), "--seeds", "1..50"});
    unsetenv("UKEMI");
    if (ran.code == 77) {
        WARN("skipped: no Slurm (slurm-wlm), or no root");
        return;
    }
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(text_in(scratch / "runs-3.log"), Catch::StartsWith("runs-3.db: "));
    REQUIRE(run_ukemi(scratch.path(), {"merge", "runs.db", "runs-1.db", "runs-2.db", "runs-3.db"})
                .code == 0);
    REQUIRE(run_ukemi(scratch.path(), endless_sweep(50, {"--out", "whole.db"})).code == 0);
    CHECK(stored_rows(scratch / "runs.db") == stored_rows(scratch / "whole.db"));
}

}  // namespace ukemi
