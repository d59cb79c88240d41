// live_jobs_test.cpp — jobs that share cores under a scheduler, each with real workers.
//
// Most are paced: time is the scenario's, so what is decided follows from steps, whatever this
// machine is like. The others decide only on who is there, one job at a time.
#include "runtime/live_jobs.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/measured_jobs.hpp"
#include "runtime/measured_world.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "tests/runtime/live_rig.hpp"

namespace ukemi {

namespace {

// Steps of 16 samples, whatever the number of workers: 10 a second with one, 16 with two.
constexpr std::string_view trained_scenario = R"({"name": "trained_scenario", "seed": 3,
    "job": {"samples": 1600, "batch": 16, "samples_per_epoch": 512,
            "throughput": {"1": "160 samples/s", "2": "256 samples/s"},
            "checkpoint": {"cost": "1 s"}, "restart": "500 ms"},
    "cluster": {"count_min": 1, "count_max": 2},
    "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
    "training": {"data": {"kind": "synthetic", "samples": 512, "features": 16, "classes": 4},
                 "model": {"kind": "mlp", "hidden": [16]}, "learning_rate": 0.1},
    "replay": ["spot_only+follow_capacity"]})";

constexpr std::string_view three_jobs =
    R"([{"name": "wide", "gpus": 2, "samples": 960},
        {"name": "narrow", "arrival": "1 s", "gpus": 1, "samples": 320},
        {"name": "brief", "arrival": "1300 ms", "gpus": 1, "samples": 64}])";

class Rig {
public:
    explicit Rig(std::string_view jobs, std::string_view scheduler) {
        folder_.file("trained_scenario.json", trained_scenario);
        text_ = fmt::format(R"({{"name": "shared", "cluster": {{"gpus_per_machine": 2}},
            "trains": "trained_scenario.json", "jobs": {}, "schedulers": [{{{}}}]}})",
                            jobs, scheduler);
        options.live = options_in(folder_, 1);
        options.cores = 2;
        options.paced = true;
    }

    scenarios::ScheduleScenario read() const {
        return scenarios::schedule_scenario_from_text(text_, folder_.path() / "shared.json");
    }
    sim::ScheduleOutcome simulated() const {
        const scenarios::ScheduleScenario scenario = read();
        sim::ScheduledWorkload workload = scenario.workload();
        workload.keeps_decisions = true;
        return sim::run_schedule(workload, *scenario.schedulers.front());
    }
    // `change` may spoil a job.
    sim::ScheduleOutcome live(schedulers::Scheduler* scheduler = nullptr,
                              const std::function<void(runtime::LiveJobSpec&)>& change = {}) {
        const scenarios::ScheduleScenario scenario = read();
        const auto spec_of = [&](std::size_t number, const sim::SharingJob& job) {
            runtime::LiveJobSpec spec;
            spec.scenario = *scenario.trained[job.trains - 1];
            spec.scenario.job.samples_total = job.samples;
            spec.policies = scenarios::first_policies(spec.scenario);
            spec.seed = number;
            spec.folder = folder_.path() / job.name;
            std::filesystem::create_directories(spec.folder);
            if (change) change(spec);
            return spec;
        };
        runtime::LiveJobs jobs(spec_of, options);
        sim::ScheduledWorkload workload = scenario.workload();
        workload.world = &jobs;
        workload.keeps_decisions = true;
        const sim::ScheduleOutcome outcome = sim::run_schedule(
            workload, scheduler != nullptr ? *scheduler : *scenario.schedulers.front());
        records = jobs.take_records();
        return outcome;
    }

    runtime::LiveJobsOptions options;
    std::vector<runtime::LiveJobRecord> records;

private:
    ScratchFolder folder_;
    std::string text_;
};

// Every sample of a job was used once, and nobody lost one.
void require_whole(const runtime::LiveJobRecord& record) {
    CAPTURE(record.name, record.failure);
    CHECK(record.failure.empty());
    REQUIRE_FALSE(record.runs.empty());
    CHECK(record.runs.back().run.result.finished);
    std::int64_t position = 0;
    for (const runtime::LiveRun& run : record.runs) {
        CHECK(run.record.incidents.empty());
        for (const runtime::LiveRecord::Step& step : run.record.steps) {
            CHECK(step.samples == position + 16);
            position = step.samples;
        }
    }
    CHECK(position == record.samples_total);
    CHECK(record.samples_done == record.samples_total);
    const std::int64_t of_stints = std::accumulate(
        record.stints.begin(), record.stints.end(), std::int64_t{0},
        [](std::int64_t sum, const runtime::LiveStint& one) { return sum + one.samples; });
    CHECK(of_stints == record.samples_total);
}

// Of the steps, how many were made by so many workers.
std::ptrdiff_t steps_of(const runtime::LiveJobRecord& record, std::int32_t workers) {
    std::ptrdiff_t steps = 0;
    for (const runtime::LiveRun& run : record.runs) {
        steps += std::ranges::count(run.record.steps, workers, &runtime::LiveRecord::Step::workers);
    }
    return steps;
}

}  // namespace

TEST_CASE("live jobs: paced, they are decided about and end as in simulated time", "[live][jobs]") {
    const std::string_view scheduler = GENERATE(R"("name": "srtf")", R"("name": "optimus")",
                                                R"("name": "tiresias", "demote_after": "1500 ms")");
    CAPTURE(scheduler);
    Rig rig(three_jobs, scheduler);
    const sim::ScheduleOutcome simulated = rig.simulated();
    const sim::ScheduleOutcome live = rig.live();
    CHECK(live.decided.size() == simulated.decided.size());
    CHECK(sim::alike_from_first(live.decided, simulated.decided) == simulated.decided.size());
    REQUIRE(live.jobs.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(live.jobs[i].completion == simulated.jobs[i].completion);
        CHECK(live.jobs[i].starts == simulated.jobs[i].starts);
        require_whole(rig.records[i]);
        // Each step was made by as many workers as the job had GPUs then.
        for (const std::int32_t workers : {1, 2}) {
            std::int64_t samples = 0;
            for (const runtime::LiveStint& stint : rig.records[i].stints) {
                samples += stint.gpus == workers ? stint.samples : 0;
            }
            CHECK(16 * steps_of(rig.records[i], workers) == samples);
        }
    }
}

TEST_CASE("live jobs: one that is paused saves, gives its workers up and goes on", "[live][jobs]") {
    Rig rig(three_jobs, R"("name": "srtf")");
    rig.live();
    const runtime::LiveJobRecord& wide = rig.records[0];
    require_whole(wide);
    REQUIRE(wide.stints.size() == 2);  // before the shorter jobs came, and after them
    CHECK(wide.stints[0].gpus == 2);
    CHECK(wide.stints[1].begin > wide.stints[0].end);
    REQUIRE(wide.runs.size() == 2);
    CHECK(wide.runs[0].run.result.unfinished_because == runtime::paused_run);
    CHECK(16 * wide.runs[0].record.last_saved_step == wide.runs[0].run.result.samples_done);
    CHECK(wide.runs[0].run.result.samples_done == wide.stints[0].samples);
    for (const runtime::LiveRun& run : wide.runs) CHECK(run.record.spawns.size() == 2);
    Rig again(three_jobs, R"("name": "srtf")");
    again.live();
    for (std::size_t i = 0; i < 3; ++i) {  // to the bit, whatever the machine did meanwhile
        CHECK(rig.records[i].runs.back().record.steps.back().report.loss ==
              again.records[i].runs.back().record.steps.back().report.loss);
    }
}

TEST_CASE("live jobs: by the clock, one after the other", "[live][jobs]") {
    Rig rig(R"([{"name": "a", "gpus": 2, "samples": 160}, {"name": "b", "gpus": 2, "samples": 96},
                {"name": "c", "gpus": 2, "samples": 64}])",
            R"("name": "fifo")");
    rig.options.paced = false;
    const sim::ScheduleOutcome live = rig.live();
    const sim::ScheduleOutcome simulated = rig.simulated();
    CHECK(sim::alike_from_first(live.decided, simulated.decided) == simulated.decided.size());
    const scenarios::ScheduleScenario again = rig.read();
    Instant before;
    std::vector<sim::SharingJob> measured;
    for (std::size_t i = 0; i < 3; ++i) {
        require_whole(rig.records[i]);
        CHECK(live.jobs[i].completion > before);
        before = live.jobs[i].completion;
        // From its first step on it computes.
        const sim::GpuTimes& times = live.jobs[i].gpu_time;
        const Int128 starting = times[static_cast<std::size_t>(records::Cause::transition)];
        const Int128 useful = times[static_cast<std::size_t>(records::Cause::useful)];
        CHECK(starting > 0);
        CHECK(useful > 0);
        CHECK(starting + useful == static_cast<Int128>(live.jobs[i].held.raw()) * 2);
        const auto one = runtime::measured_job(again.jobs[i], rig.records[i]);
        REQUIRE(one);
        measured.push_back(*one);
    }
    // Simulated with what was measured, it comes to the same.
    runtime::MeasuredWorld world(measured);
    sim::ScheduledWorkload workload = again.workload();
    workload.world = &world;
    workload.keeps_decisions = true;
    const sim::ScheduleOutcome recomputed = sim::run_schedule(workload, *again.schedulers.front());
    CHECK(sim::alike_from_first(live.decided, recomputed.decided) == live.decided.size());
    for (std::size_t i = 0; i < 3; ++i) {
        const double live_s = to_seconds(live.jobs[i].completion.since_start());
        const double recomputed_s = to_seconds(recomputed.jobs[i].completion.since_start());
        CHECK(recomputed_s == Approx(live_s).epsilon(0.02));
    }
}

TEST_CASE("live jobs: one that cannot begin fails, and the others go on", "[live][jobs]") {
    Rig rig(three_jobs, R"("name": "srtf")");
    rig.options.paced = GENERATE(true, false);
    const sim::ScheduleOutcome live = rig.live(nullptr, [](runtime::LiveJobSpec& spec) {
        if (spec.seed == 1) spec.resume_from = spec.folder / "nothing.ukemi";
    });
    CHECK(live.jobs[1].failed);
    CHECK_FALSE(live.jobs[1].is_complete());
    CHECK_FALSE(live.jobs[1].refused());
    CHECK_THAT(rig.records[1].failure, Catch::Contains("nothing.ukemi"));
    for (const std::size_t other : {0U, 2U}) {
        CHECK(live.jobs[other].is_complete());
        require_whole(rig.records[other]);
    }
}

TEST_CASE("live jobs: workers that die again and again end their job, and say why",
          "[live][jobs]") {
    Rig rig(R"([{"name": "a", "gpus": 1, "samples": 160}])", R"("name": "fifo")");
    rig.options.live.worker_program = UKEMI_LIVE_WORKER;
    rig.options.live.worker_arguments = {"dying", "3"};
    rig.options.live.first_pause = std::chrono::milliseconds(1);
    std::vector<std::string> said;
    rig.options.say = [&](const std::string& line) { said.push_back(line); };
    const sim::ScheduleOutcome live = rig.live();
    CHECK(live.jobs[0].failed);
    CHECK_THAT(rig.records[0].failure, Catch::Contains("workers in a row died"));
    REQUIRE_FALSE(said.empty());
    CHECK_THAT(said.front(), Catch::Contains("a: ") && Catch::Contains("killed by signal 9"));
}

TEST_CASE("live jobs: one whose model cannot be saved is not done", "[live][jobs]") {
    Rig rig(R"([{"name": "a", "gpus": 1, "samples": 160}])", R"("name": "fifo")");
    rig.options.paced = GENERATE(true, false);
    std::vector<std::string> said;
    rig.options.say = [&](const std::string& line) { said.push_back(line); };
    const sim::ScheduleOutcome live =
        rig.live(nullptr, [](runtime::LiveJobSpec& spec) { remove_all(spec.folder); });
    CHECK(live.jobs[0].failed);
    CHECK(rig.records[0].failure == "its model could not be saved");
    CHECK(rig.records[0].runs.size() > 1);
    const std::string again =
        "a: 160 samples are trained again: the model that had them was not "
        "saved";
    CHECK(std::ranges::find(said, again) != said.end());
}

namespace {

// Another scheduler that has the run told to stop at its second decision.
class Stopping final : public schedulers::Scheduler {
public:
    Stopping(schedulers::Scheduler& other, std::atomic<int>& stop) : other_(other), stop_(stop) {}
    std::string_view name() const override { return other_.name(); }
    void begin(const schedulers::ClusterFacts& cluster) override { other_.begin(cluster); }
    void completed(schedulers::JobId job) override { other_.completed(job); }
    void arrived(const schedulers::JobRequest& request) override { other_.arrived(request); }
    void decide(Instant now, const schedulers::JobForecasts& jobs,
                schedulers::Allocation& allocation) override {
        other_.decide(now, jobs, allocation);
        if (++decisions_ == 2) stop_ = 1;
    }

private:
    schedulers::Scheduler& other_;
    std::atomic<int>& stop_;
    int decisions_ = 0;
};

}  // namespace

TEST_CASE("live jobs: told to stop, all save what they have", "[live][jobs]") {
    Rig rig(three_jobs, R"("name": "srtf")");
    std::atomic<int> stop{0};
    rig.options.live.stop_requests = &stop;
    const scenarios::ScheduleScenario scenario = rig.read();
    Stopping scheduler(*scenario.schedulers.front(), stop);
    const sim::ScheduleOutcome live = rig.live(&scheduler);
    CHECK(live.interrupted);
    CHECK(live.jobs[0].failed);
    CHECK(live.jobs[2].failed);  // which had not even come
    CHECK(live.jobs[0].held > Duration{});
    const runtime::LiveJobRecord& wide = rig.records.at(0);
    REQUIRE(wide.runs.size() == 1);
    CHECK(wide.failure == "told to stop");
    CHECK(wide.samples_done > 0);
    CHECK(16 * wide.runs[0].record.last_saved_step == wide.samples_done);
    CHECK(exists(wide.checkpoint));
}

}  // namespace ukemi
