// first_plan_test.cpp — a first Plan that the simulated market cannot commit is refused by every
// command that would begin with it, in one line at the key that says it.
#include <catch2/catch.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

const std::string coded_job = R"({"name": "coded", "seed": 1,
 "job": {"samples": 4000, "batch": 4,
         "step_time": {"per_sample": "10 ms", "gradient": "10 MB", "link": {"bandwidth": "1 GB/s"},
                       "codecs": [{"codec": "power_sgd:2", "bytes": "1 MB"}]}},
 "training": {"codec": "power_sgd:3"},
 "cluster": {"count": 2},
 "market": {"generate": {"market": "p3-64-group", "length": "10 d"}, "on_demand_price": "3 USD/h"},
 "replay": ["on_demand"]})";

const std::string jobs_with_it = R"({"name": "jobs", "seed": 1,
 "cluster": {"machines": 2, "gpus_per_machine": 1},
 "jobs": [{"name": "one", "scenario": "coded.json"}],
 "schedulers": [{"name": "fifo"}]})";

}  // namespace

TEST_CASE("ukemi: a first Plan that cannot be is refused by all commands alike", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "coded.json", coded_job);
    write_file(scratch.path() / "jobs.json", jobs_with_it);
    const std::vector<std::vector<std::string>> commands = {
        {"check", "coded.json"},
        {"replay", "coded.json", "--no-files"},
        {"compare", "coded.json", "--vary", "policy=on_demand,spot_only"},
        {"sweep", "coded.json", "--out", "runs.db"},
        {"tune", "coded.json", "--policy", "spot_only+periodic", "--over", "interval=5min..2h",
         "--seeds", "1..2"},
        {"schedule", "jobs.json"},
        {"advise", "coded.json"}};
    for (const std::vector<std::string>& command : commands) {
        CAPTURE(command.front());
        const Ran ran = run_ukemi(scratch.path(), command);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::Contains("coded.json: at /training/codec: the first Plan is not "
                                            "possible: codec power_sgd with level 3, which the "
                                            "simulated market does not have"));
    }
    const Ran good = run_ukemi(scratch.path(), {"replay", "coded.json", "--set",
                                                "/training/codec=power_sgd:2", "--no-files"});
    INFO(good.err);
    CHECK(good.code == 0);
}

TEST_CASE("ukemi schedule: a job's policy whose decisions are refused is warned of", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "own.json", R"({"name": "own", "seed": 1,
        "job": {"samples": 100000, "batch": 8, "step_time": {"per_sample": "10 ms",
            "exchange": {"2": "20 ms"}, "codecs": [{"codec": "fp16", "exchange": {"2": "10 ms"}}]}},
        "cluster": {"count": 2}, "market": {"spot_price": "1 USD/h", "on_demand_price": "1 USD/h"},
        "replay": ["on_demand"]})");
    write_file(scratch.path() / "jobs.json", R"({"name": "jobs",
        "cluster": {"machines": 2, "gpus_per_machine": 1},
        "jobs": [{"name": "coded", "scenario": "own.json",
                  "policies": "spot_only+adaptive_codec:options=qsgd"}],
        "schedulers": [{"name": "fifo"}, {"name": "srtf"}]})");
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "jobs.json", "--json"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.err,
               Catch::Contains("coded: spot_only+adaptive_codec:options=qsgd: decides what "
                               "is refused and changes nothing: codec qsgd"));
    CHECK(ran.err.find("decides") == ran.err.rfind("decides"));  // once, whatever the scheduler
}

}  // namespace ukemi
