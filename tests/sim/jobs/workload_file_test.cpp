// workload_file_test.cpp — forms of recorded workloads, and what is wrong with others.
#include <array>
#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "tests/recorded.hpp"
#include "tests/scratch_folder.hpp"
#include "traces/step_rates.hpp"
#include "traces/workload_file.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

std::string complaint_about(const fs::path& file) {
    try {
        traces::read_workloads(std::array{file});
    } catch (const InputError& error) {
        return std::string(error.what()).substr(file.parent_path().string().size() + 1);
    }
    return "";
}

}  // namespace

TEST_CASE("workload files: of several, the first submission is the zero of the clock", "[jobs]") {
    const ScratchFolder scratch;
    const std::array files = {
        scratch.file("a.csv", "job_id,submission_time,duration,num_gpu\nx,500,20,4\ny,100,1.5,1\n"),
        scratch.file("b.csv",
                     "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,"
                     "duration\nz,90,7,bert,150,32,2,30\n")};
    const auto rows = traces::read_workloads(files);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].name == "z");
    CHECK(rows[0].arrival == Duration{});
    CHECK(rows[0].deadline == whole_seconds(60));
    CHECK(rows[0].gpus == 2);
    CHECK(rows[1].name == "y");
    CHECK(rows[1].arrival == whole_seconds(10));
    CHECK(rows[1].service == milliseconds(1500));
    CHECK(rows[1].deadline == Duration::max());
    CHECK(rows[2].arrival == whole_seconds(410));
}

TEST_CASE("workload files: times may be dates, in a whole file or not at all", "[jobs]") {
    const ScratchFolder scratch;
    const auto dated = traces::read_workloads(
        std::array{scratch.file("h.csv",
                                "job_id,user,gpu_num,submit_time,duration,deadline\n"
                                "7,u1,8,2020-04-01 00:10:00,60,2020-04-01 02:00\n"
                                "8,u2,1,2020-04-01T02:00:05+02:00,90,2020-04-02 00:00:00\n")},
        traces::WorkloadZero::first_job);
    REQUIRE(dated.size() == 2);
    CHECK(dated[0].name == "8");
    CHECK(dated[0].deadline == days(1) - whole_seconds(5));
    CHECK(dated[1].arrival == whole_seconds(595));
    CHECK(dated[1].gpus == 8);
    CHECK(complaint_about(scratch.file(
              "w.csv", "submit_time,duration,gpu_num\n2020-04-01 00:10:00,60,1\n70,60,1\n")) ==
          "w.csv:3:1: expected a time such as 2023-02-15 22:08:16 (years 1970 to 2199), found "
          "\"70\"");
}

TEST_CASE("workload files: ElasticFlow's own names, and Gavel's steps", "[jobs]") {
    const ScratchFolder scratch;
    const auto own = traces::read_workloads(std::array{scratch.file(
        "e.csv",
        "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort\n"
        "0,100,7,vgg16,400,256,2,300,0\n")});
    CHECK(own[0].deadline == whole_seconds(300));
    CHECK(own[0].service == whole_seconds(300));
    const fs::path gavel =
        scratch.file("g.trace",
                     "LM (batch size 5)\tcd x && python3 main.py\t--steps\t1\t500\t30.5\t4\n"
                     "A3C\tpython3 main.py\trl\t--steps\t0\t20\t2\t1\t-1.000000\t7\n");
    const auto steps = traces::read_workloads(std::array{gavel});
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].kind == "('A3C', 2)");
    CHECK(steps[0].steps == 20);
    CHECK(steps[1].kind == "('LM (batch size 5)', 4)");
    CHECK(steps[1].gpus == 4);
    CHECK(steps[1].arrival - steps[0].arrival == milliseconds(23'500));
    const fs::path rates = scratch.file("rates.json", R"json({"v100": {"('A3C', 2)": {
        "null" : 4.0, "('A3C', 1)" : [ 1.0, 2.0 ]}
}
})json");
    const traces::StepRates table(rates);
    CHECK(table.steps_per_s("v100", "('A3C', 2)") == 4.0);
    CHECK(table.steps_per_s("v100", "('A3C', 1)") == 0);
    CHECK_THROWS_AS(table.steps_per_s("k80", "('A3C', 2)"), InputError);
    const auto weighed = traces::read_workloads(
        std::array{scratch.file("s.trace", "a\tb\tc\t-n\t1\t5\t1\t5\t1.200000\t0\n")});
    CHECK(weighed[0].priority == 5);
    CHECK(weighed[0].slo == 1.2);
    CHECK(steps[0].slo == 0);
    CHECK(complaint_about(scratch.file("b.trace", "a\tb\tc\t-n\t1\t5\t1\t1\tsoon\t0\n")) ==
          "b.trace:1:18: expected an SLO above 0, or -1 for none, found \"soon\"");
    CHECK(complaint_about(scratch.file("w.trace", "a\tb\tc\t-n\t1\t5\t1\t0\t2.0\t0\n")) ==
          "w.trace:1:16: expected a priority from 1 to 1000, found \"0\"");
}

TEST_CASE("workload files: whose jobs are, and what they may have", "[jobs]") {
    const ScratchFolder scratch;
    const auto rows = traces::read_workloads(
        std::array{scratch.file("o.csv",
                                "job_id,submission_time,duration,num_gpu,user,priority,budget_usd\n"
                                "x,0,20,4,ann,3,2.5\ny,1,20,4,bob,,\n")});
    CHECK(rows[0].user == "ann");
    CHECK(rows[0].priority == 3);
    CHECK(rows[0].budget_usd == 2.5);
    CHECK(rows[1].user == "bob");
    CHECK(rows[1].priority == 1);
    CHECK(!rows[1].budget_usd);
    const auto about = [&](const char* row) {
        return complaint_about(scratch.file(
            "b.csv", std::string("name,time,application,num_replicas,batch_size,priority,"
                                 "budget_usd\n") +
                         row));
    };
    CHECK(about("a,0,bert,1,12,-2,1\n") ==
          "b.csv:2:15: expected a priority from 1 to 1000, found \"-2\"");
    CHECK(about("a,0,bert,1,12,2,0\n") ==
          "b.csv:2:17: expected a budget in dollars above 0, or nothing, found \"0\"");
    CHECK(about("a,0,bert,1,12,2,nan\n") ==
          "b.csv:2:17: expected a budget in dollars above 0, or nothing, found \"nan\"");
}

TEST_CASE("workload files: Philly's stamps and Pollux's seconds", "[jobs]") {
    const ScratchFolder scratch;
    const auto philly = traces::read_workloads(std::array{scratch.file(
        "p.csv",
        "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n"
        "2017-10-09 06:13:03,2951.0,8,2951.0,b\n")});
    CHECK(philly[0].gpus == 8);
    CHECK(philly[1].arrival == whole_seconds(48 * 60 + 52));
    const auto pollux = traces::read_workloads(std::array{scratch.file(
        "w.csv", "name,time,application,num_replicas,batch_size\nbert-0,225.0,bert,6,384\n")});
    CHECK(pollux[0].arrival == whole_seconds(225));  // of its own clock
    CHECK(pollux[0].application == "bert");
    CHECK(pollux[0].batch == 384);
}

TEST_CASE("workload files: what is wrong is said with its line", "[jobs]") {
    const ScratchFolder scratch;
    const auto about = [&](const char* text) {
        return complaint_about(scratch.file("w.csv", text));
    };
    CHECK(about("job_id,submission_time,duration,num_gpu\n") == "w.csv: there is no job in it");
    CHECK(about("job_id,submission_time,duration,num_gpu\nx,1,2,1\ny,2,2,1\nx,1,2,1\n") ==
          "w.csv:4:1: expected a job that does not stand there twice, found \"x\"");
    CHECK(about("name,time,application,num_replicas,batch_size\na,0,bert,1,12\na,0,bert,1,12\n") ==
          "w.csv:3:1: expected a job that does not stand there twice, found \"a\"");
    CHECK_THAT(about("job_id,submission_time,duration,num_gpu\nx,1,0,1\n"),
               Catch::StartsWith("w.csv:2:5: expected a duration above zero, found"));
    CHECK_THAT(about("job_id,submission_time,duration,num_gpu\nx,1,2,0\n"),
               Catch::StartsWith("w.csv:2:7: expected a number of GPUs from 1 to 1000000, found"));
    CHECK_THAT(about("job_id,submission_time,duration,num_gpu,deadline\nx,5,2,1,5\n"),
               Catch::StartsWith("w.csv:2:9: expected a deadline after the submission, found"));
    CHECK_THAT(about("a,b\n1,2\n"), Catch::StartsWith("w.csv:1:1: "));
    const std::array two_forms = {
        scratch.file("a.csv", "job_id,submission_time,duration,num_gpu\nx,1,2,1\n"),
        scratch.file("b.csv", "name,time,application,num_replicas,batch_size\na,0,b,1,1\n")};
    CHECK_THROWS_WITH(traces::read_workloads(two_forms), Catch::Contains("is of another form"));
}

TEST_CASE("workload files: every recorded one is read", "[jobs]") {
    const auto data = whole_recorded_data();
    if (!data) {
        WARN("skipped: no recorded data: elasticflow_ms_itp, pollux, sia");
        return;
    }
    std::size_t jobs = 0;
    std::size_t files = 0;
    for (const char* folder : {"elasticflow_ms_itp/raw-traces",
                               "elasticflow_ms_itp/"
                               "elasticflow-traces",
                               "pollux/workloads", "sia/workloads/philly", "sia/workloads/saturn",
                               "sia/workloads/newtrace"}) {
        if (!fs::exists(*data / folder)) continue;
        for (const auto& entry : fs::directory_iterator(*data / folder)) {
            CAPTURE(entry.path());
            jobs += traces::read_workloads(std::array{entry.path()}).size();
            ++files;
        }
    }
    CHECK(files >= 30);
    CHECK(jobs >= 100'000);
}

}  // namespace ukemi
