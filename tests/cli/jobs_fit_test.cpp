// jobs_fit_test.cpp — `ukemi fit --jobs`: from a recorded workload to a schedule of drawn jobs.
#include <catch2/catch.hpp>
#include <string>

#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

// Six days: three jobs within a minute at the sixth hour of each, one an hour else.
std::string made_up_workload() {
    std::string text = "job_id,submission_time,num_gpu,duration\n";
    int number = 0;
    const auto add = [&](int time_s, int gpus, int service_s) {
        text += std::to_string(number++) + "," + std::to_string(time_s) + "," +
                std::to_string(gpus) + "," + std::to_string(service_s) + "\n";
    };
    for (int hour = 0; hour < 6 * 24; ++hour) {
        add(hour * 3600, 1, 600 + hour);
        for (int more = 1; hour % 24 == 6 && more < 12; ++more) {
            add(hour * 3600 + 10 * more, 4, 1800);
        }
    }
    return text;
}

}  // namespace

TEST_CASE("ukemi fit --jobs: a generator of jobs, and a schedule of what it draws", "[cli][jobs]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    write_file(folder / "jobs.csv", made_up_workload());
    const Ran ran = run_ukemi(folder, {"fit", "--jobs", "jobs.csv", "--out", "model.json"});
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("fitted   naive\ntime between jobs") &&
                            Catch::Contains("\nGPU hours asked for an hour") &&
                            Catch::Contains("\nwrote model.json: all 210 jobs\n"));
    const Ran printed = run_ukemi(folder, {"fit", "--jobs", "jobs.csv"});
    CHECK(printed.out == text_in(folder / "model.json"));
    write_file(folder / "drawn.json",
               R"({"name": "drawn", "cluster": {"machines": 2, "gpus_per_machine": 4},
                   "jobs": {"generate": {"workload": "model.json", "length": "10 d"}},
                   "schedulers": [{"name": "fifo"}]})");
    const auto jobs_of = [&](const std::string& setting) {
        const Ran drawn = run_ukemi(
            folder, {"schedule", "drawn.json", "--csv", "out.csv", "--force", "--set", setting});
        REQUIRE(drawn.code == 0);
        return csv_rows(folder / "out.csv");
    };
    const auto first = jobs_of("/seed=1");
    CHECK(first.size() > 200);
    CHECK(first == jobs_of("/seed=1"));
    CHECK(first != jobs_of("/seed=2"));
    CHECK(jobs_of("/jobs/generate/rate=0.2").size() < first.size() / 3);
}

TEST_CASE("ukemi fit --jobs: wrong input is refused in one line", "[cli][jobs]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    write_file(folder / "few.csv", "job_id,submission_time,num_gpu,duration\n0,0,1,60\n");
    write_file(folder / "names.csv",
               "name,time,application,num_replicas,batch_size\na,0,bert,1,12\n");
    write_file(folder / "jobs.csv", made_up_workload());
    const auto complaint = [&](std::vector<std::string> arguments) {
        const Ran ran = run_ukemi(folder, arguments);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        return ran.err;
    };
    CHECK_THAT(complaint({"fit", "--jobs"}), Catch::Contains("expected files of a workload"));
    CHECK_THAT(complaint({"fit", "--jobs", "few.csv"}),
               Catch::Contains("few.csv: expected at least 200 jobs over 2 d"));
    CHECK_THAT(complaint({"fit", "--jobs", "names.csv"}),
               Catch::Contains("names.csv: expected jobs that say how long they ran"));
    CHECK_THAT(complaint({"fit", "--jobs", "none.csv"}), Catch::Contains("none.csv"));
    REQUIRE(run_ukemi(folder, {"fit", "--jobs", "jobs.csv", "--out", "model.json"}).code == 0);
    CHECK_THAT(complaint({"fit", "--jobs", "jobs.csv", "--out", "model.json"}),
               Catch::Contains("model.json: is there already"));
    write_file(folder / "drawn.json",
               R"({"name": "drawn", "cluster": {"machines": 2, "gpus_per_machine": 4},
                   "jobs": {"generate": {"workload": "model.json", "length": "10 d"}},
                   "schedulers": [{"name": "fifo"}]})");
    CHECK_THAT(complaint({"schedule", "drawn.json", "--set", "/jobs/generate/length=1 ns"}),
               Catch::Contains("at /jobs/generate/length: no job came in it"));
    CHECK_THAT(complaint({"schedule", "drawn.json", "--set", "/jobs/generate/rate=0"}),
               Catch::Contains("at /jobs/generate/rate: expected a number from 0.001"));
    CHECK_THAT(complaint({"schedule", "drawn.json", "--set", "/jobs/generate/workload=no.json"}),
               Catch::Contains("no.json"));
    CHECK_THAT(complaint({"schedule", "drawn.json", "--set", "/jobs/tables=x"}),
               Catch::Contains("unknown key \"tables\""));
}

}  // namespace ukemi
