// schedule_test.cpp — `ukemi schedule` as a user meets it: the table, results, complaints, and
// recorded workloads from a scenario's file to a table of jobs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"
#include "tests/recorded.hpp"

namespace ukemi {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* two_jobs = R"({"name": "two", "cluster": {"gpus_per_machine": 2},
    "jobs": [{"name": "a", "gpus": 2, "service": "10 s"},
             {"name": "b", "arrival": "1 s", "service": "2 s"}],
    "schedulers": [{"name": "fifo"}, {"name": "tiresias", "demote_after": "4 s"}]})";

}  // namespace

TEST_CASE("ukemi schedule: a line for each scheduler", "[cli][jobs]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "shared_cluster"});
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
    CHECK_THAT(ran.out,
               Catch::StartsWith("shared_cluster: 10 jobs on 8 GPUs (2 x 4), decisions at every "
                                 "event\n"));
    for (const char* name : {"fifo ", "fifo_skip ", "srtf ", "tiresias ", "optimus ", "max_min ",
                             "finish_time_fairness ", "elasticflow "}) {
        CHECK_THAT(ran.out, Catch::Contains(std::string("\n") + name));
    }
    CHECK(names_in(scratch.path()).empty());
    const Ran checked =
        run_ukemi(scratch.path(), {"check", shipped("jobs/shared_cluster.json").string()});
    CHECK_THAT(checked.out, Catch::EndsWith("ok (10 jobs on 8 GPUs, 8 schedulers)\n"));
    const Ran listed = run_ukemi(scratch.path(), {"list", "schedulers"});
    CHECK_THAT(listed.out,
               Catch::Contains("also: tiresias_2queue") && Catch::Contains("demote_after: 16 h"));
}

TEST_CASE("ukemi schedule: machines of two types, and who is on which", "[cli][jobs]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "gpu_types", "--out", "r"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("gpu_types: 8 jobs on 12 GPUs (1 x 4 a100, 2 x 4 t4), "));
    const auto spans = csv_rows(scratch.path() / "r/spans.csv");
    std::set<std::string> of_finetune;  // which cannot run on a t4
    for (const auto& row : spans) {
        if (row.at("job") == "finetune") of_finetune.insert(row.at("gpu_type"));
    }
    CHECK(of_finetune == std::set<std::string>{"a100"});
    const auto rows = csv_rows(scratch.path() / "r/schedule.csv");
    REQUIRE(rows.size() == 5);
    const auto makespan_s = [&](std::size_t row) { return std::stod(rows[row].at("makespan_s")); };
    CHECK(rows[3].at("scheduler") == "gavel_makespan");
    for (const std::size_t other : {0U, 1U, 2U, 4U}) CHECK(makespan_s(3) < makespan_s(other));
}

TEST_CASE("ukemi schedule: named schedulers keep the scenario's parameters", "[cli][jobs]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "two.json", two_jobs);
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "two.json", "--schedulers",
                                               "srtf,tiresias", "--csv", "jobs.csv"});
    REQUIRE(ran.code == 0);
    const auto rows = csv_rows(scratch.path() / "jobs.csv");
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].at("scheduler") == "srtf");
    CHECK(rows[0].at("completion_s") == "12");
    // 2 GPUs for 2 s are the 4 s after which a makes way for b, which came at 1 s.
    CHECK(rows[3].at("scheduler") == "tiresias");
    CHECK(rows[3].at("completion_s") == "3");
    CHECK(rows[3].at("waited_s") == "1");
    CHECK(rows[2].at("restarts") == "1");
    CHECK(rows[2].at("completion_s") == "12");
}

TEST_CASE("ukemi schedule: a folder of results is run again to the same jobs", "[cli][jobs]") {
    const ScratchFolder scratch;
    const auto& folder = scratch.path();
    write_file(folder / "two.json", two_jobs);
    const Ran first = run_ukemi(
        folder, {"schedule", "two.json", "--vary", "/jobs/1/service=2s,4s", "--out", "r"});
    REQUIRE(first.code == 0);
    CHECK(std::ranges::count(names_in(folder / "r"), "schedule.csv") == 1);
    REQUIRE(run_ukemi(folder, {"schedule", "r", "--out", "again"}).code == 0);
    for (const char* name : {"jobs.csv", "schedule.csv", "spans.csv"}) {
        CHECK(text_in(folder / "again" / name) == text_in(folder / "r" / name));
    }
    CHECK(fs::exists(folder / "r/figures/completion_times.csv"));
    CHECK(run_ukemi(folder, {"plot", "r"}).code == 0);
    const auto rows = csv_rows(folder / "r/schedule.csv");
    REQUIRE(rows.size() == 4);
    CHECK(rows[3].at("jobs_1_service_s") == "4");
    CHECK_THAT(run_ukemi(folder, {"simulate", "r"}).err,
               Catch::Contains("is of ukemi schedule: ukemi schedule runs it again"));
}

TEST_CASE("ukemi schedule: rows are those of all runs in their order, and nothing else is left",
          "[cli][jobs]") {
    const ScratchFolder scratch;
    const auto& folder = scratch.path();
    write_file(folder / "two.json", two_jobs);
    const std::vector<std::string> asked = {"schedule", "two.json", "--vary",
                                            "/jobs/1/service=2s,4s,6s"};
    const auto with = [&](std::initializer_list<std::string> more) {
        std::vector<std::string> all = asked;
        all.insert(all.end(), more);
        return run_ukemi(folder, all);
    };
    REQUIRE(with({"--out", "r"}).code == 0);
    REQUIRE(with({"--csv", "own.csv"}).code == 0);
    REQUIRE(with({"--out", "both", "--csv", "beside.csv"}).code == 0);
    const std::string jobs = text_in(folder / "r/jobs.csv");
    CHECK(text_in(folder / "own.csv") == jobs);
    CHECK(text_in(folder / "beside.csv") == jobs);
    CHECK(text_in(folder / "both/spans.csv") == text_in(folder / "r/spans.csv"));
    const auto rows = csv_rows(folder / "own.csv");
    REQUIRE(rows.size() == 3 * 2 * 2);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(i);
        CHECK(rows[i].at("jobs_1_service_s") == std::to_string(2 * (1 + i / 4)));
        CHECK(rows[i].at("scheduler") == (i / 2 % 2 == 0 ? "fifo" : "tiresias"));
        CHECK(rows[i].at("job") == (i % 2 == 0 ? "a" : "b"));
    }
    auto left = names_in(folder);
    std::ranges::sort(left);
    CHECK(left == std::vector<std::string>{"beside.csv", "both", "own.csv", "r", "two.json"});
}

TEST_CASE("ukemi schedule: names may have quotes and commas", "[cli][jobs]") {
    const ScratchFolder scratch;
    std::string text = two_jobs;
    text.replace(text.find("\"a\""), 3, R"("a \"b\", c", "user": "the \"owner\"")");
    write_file(scratch.path() / "two.json", text);
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "two.json", "--out", "r"});
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK_THAT(text_in(scratch.path() / "r/jobs.csv"),
               Catch::Contains(R"("a ""b"", c")") && Catch::Contains(R"("the ""owner""")"));
}

TEST_CASE("ukemi schedule: figures of the queue and of who held what", "[cli][jobs]") {
    const ScratchFolder scratch;
    const auto& folder = scratch.path();
    write_file(folder / "two.json", two_jobs);
    REQUIRE(run_ukemi(folder, {"schedule", "two.json", "--out", "r"}).code == 0);
    CHECK(fs::exists(folder / "r/figures/finish_time_ratios.csv"));
    // Under fifo b comes at 1 s and waits for a, which has both GPUs until 10 s.
    const auto bars = csv_rows(folder / "r/figures/gpus_by_job.csv");
    REQUIRE(bars.size() == 2);
    CHECK(bars[0].at("name") == "a");
    CHECK(std::stod(bars[1].at("begin_h")) * 3600 == Approx(10));
    CHECK(bars[0].at("gpus") == "2");
    CHECK(bars[1].at("gpus") == "1");
    for (const auto& row : csv_rows(folder / "r/figures/queue_over_time.csv")) {
        const double now_s = std::stod(row.at("time_s"));
        const bool of_fifo = row.at("policy").starts_with("fifo");
        const bool waits = of_fifo && now_s > 1.05 && now_s < 9.95;
        if (waits) CHECK(row.at("waiting_mean") == "1");
        if (waits) CHECK(row.at("use_percent_mean") == "100");
    }
    // Parts of two GPUs, of which nobody knows the machine.
    REQUIRE(run_ukemi(folder, {"schedule", "live_cluster", "--schedulers", "max_min", "--set",
                               "/restart=0 s", "--out", "m"})
                .code == 0);
    double most = 0;
    for (const auto& row : csv_rows(folder / "m/figures/gpus_by_job.csv")) {
        most = std::max(most, std::stod(row.at("high_gpus")));
    }
    CHECK(most == Approx(2));
}

TEST_CASE("ukemi schedule: wrong scenarios are refused in one line", "[cli][jobs]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "two.json", two_jobs);
    write_file(scratch.path() / "w.csv",
               "name,time,application,num_replicas,batch_size\na,0,bert,1,12\n");
    const auto complaint = [&](const char* setting) {
        const Ran ran = run_ukemi(scratch.path(), {"schedule", "two.json", "--set", setting});
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        CHECK(is_one_line(ran.err));
        return ran.err;
    };
    CHECK_THAT(complaint("/jobs/0/gpus=3"),
               Catch::Contains("at /jobs: job \"a\" asks for 3 GPUs, the cluster has 2"));
    CHECK_THAT(complaint("/schedulers/0/name=fifi"),
               Catch::Contains("at /schedulers/0/name: expected one of fifo, ") &&
                   Catch::Contains("(did you mean \"fifo\"?)"));
    CHECK_THAT(complaint("/schedulers/0/name=tiresias"), Catch::Contains("stands there twice"));
    CHECK_THAT(complaint("/schedulers/0/name=elasticflow"),
               Catch::Contains("elasticflow asks for a deadline of every job, \"a\" has none"));
    CHECK_THAT(complaint("/jobs/1/name=a"), Catch::Contains("\"a\" stands there twice"));
    CHECK_THAT(complaint("/jobs/1/name="),
               Catch::Contains("at /jobs/1/name: expected a name, found an empty text"));
    CHECK_THAT(complaint("/jobs/1/deadline=1 s"),
               Catch::Contains("at /jobs/1/deadline: expected a time after the arrival, 1 s, found "
                               "1 s"));
    CHECK_THAT(complaint("/jobs/1/service=0 s"), Catch::Contains("expected more than zero"));
    CHECK_THAT(complaint("/jobs/1/speeds=[1, 2]"), Catch::Contains("expected the speed on 0, 1"));
    CHECK_THAT(complaint("/jobs={\"workload\": \"w.csv\"}"),
               Catch::Contains("job \"a\" names an application: expected \"tables\""));
    CHECK_THAT(complaint("/jobs={\"workload\": \"none.csv\"}"), Catch::Contains("none.csv"));
    write_file(scratch.path() / "twice.csv",
               "job_id,submission_time,duration,num_gpu\nx,1,2,1\ny,2,2,1\nx,1,2,1\n");
    CHECK_THAT(complaint("/jobs={\"workload\": \"twice.csv\"}"),
               Catch::Contains("twice.csv:4:1: expected a job that does not stand there twice, "
                               "found \"x\""));
    CHECK_THAT(complaint("/schedulers/0={\"name\": \"sia\", \"solutions\": \"none.csv\"}"),
               Catch::Contains("none.csv"));
    const char* const types =
        "/cluster=[{\"gpu_type\": \"a\", \"gpus_per_machine\": 2}, "
        "{\"gpu_type\": \"b\", \"gpus_per_machine\": 1}]";
    CHECK_THAT(complaint(types),
               Catch::Contains("at /schedulers/0/name: fifo knows one type of GPU, the cluster "
                               "has 2"));
    CHECK_THAT(complaint("/jobs/0/speed_on={\"a\": 2}"),
               Catch::Contains("at /jobs/0/speed_on/a: the cluster has no such gpu_type"));
    CHECK_THAT(complaint("/cluster=[]"), Catch::Contains("expected at least one group"));
    CHECK_THAT(complaint("/cluster=[{\"gpu_type\": \"a\", \"gpus_per_machine\": 2}, "
                         "{\"gpu_type\": \"a\", \"gpus_per_machine\": 2}]"),
               Catch::Contains("\"a\" stands there twice"));
    CHECK_THAT(complaint("/market={}"), Catch::Contains("`ukemi replay` runs it"));
    for (const char* other : {"replay", "simulate"}) {
        const Ran ran = run_ukemi(scratch.path(), {other, "two.json"});
        CHECK(ran.code == 2);
        CHECK(ran.err ==
              "ukemi: two.json: at /schedulers: these are jobs that share a cluster: "
              "`ukemi schedule` runs them\n");
    }
}

TEST_CASE("ukemi schedule: Pollux's recorded workload, job by job", "[cli][jobs][peers]") {
    const fs::path tables = *peer_outputs() / "cluster/pollux";
    const auto data = recorded_data("pollux/workloads");
    if (!data || !fs::exists(tables)) {
        WARN("skipped: no recorded data: pollux/workloads, reference/peers/cluster/pollux");
        return;
    }
    const ScratchFolder scratch;
    write_file(scratch.path() / "pollux.json",
               json{{"name", "pollux"},
                    {"cluster", {{"machines", 16}, {"gpus_per_machine", 4}}},
                    {"round", "60 s"},
                    {"jobs",
                     {{"workload", (*data / "pollux/workloads/workload-1.csv").string()},
                      {"tables", tables.string()}}},
                    {"schedulers", {{{"name", "tiresias"}}, {{"name", "optimus"}}}}}
                   .dump());
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "pollux.json", "--csv", "jobs.csv"});
    REQUIRE(ran.code == 0);
    std::map<std::string, json> expected;
    for (const char* name : {"tiresias", "optimus"}) {
        expected[name] =
            json::parse(text_in(tables / "expected" / (std::string(name) + "-w1.json")));
    }
    const auto rows = csv_rows(scratch.path() / "jobs.csv");
    CHECK(rows.size() == 320);
    for (const auto& row : rows) {
        const json& of = expected.at(row.at("scheduler"));
        CAPTURE(row.at("scheduler"), row.at("job"));
        CHECK(row.at("completion_s") == of["jcts"][row.at("job")].dump());
        CHECK(row.at("restarts") == of["restarts"][row.at("job")].dump());
    }
}

}  // namespace ukemi
