// schedule_bench.cpp — how long it takes to schedule recorded workloads, beside what others took.
//
// Pollux's workload 6 on 64 GPUs: its simulator took 0.95 s under Tiresias and 4.1 s under Optimus
// without a fit that these policies do not use (two cores, one thread; the whole of it 11.5 and
// 40.5 s). `peer_s` is that time, `times_as_fast` the ratio; ours is measured with reading the
// tables and without. Microsoft's ITP jobs have no peer's time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>

#include "schedulers/registry.hpp"
#include "sim/jobs/schedule_run.hpp"
#include "tests/recorded.hpp"
#include "traces/workload_file.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

std::unique_ptr<schedulers::Scheduler> scheduler_called(const char* name) {
    ConfigReader none = ConfigReader::from_text("{}", name);
    return schedulers::find_scheduler(name)->make(none);
}

struct PolluxWorkload {
    explicit PolluxWorkload(const fs::path& data) : tables(*peer_outputs() / "cluster/pollux") {
        for (const traces::WorkloadRow& row :
             traces::read_workloads(std::array{data / "pollux/workloads/workload-6.csv"})) {
            sim::SharingJob& job = jobs.emplace_back();
            job.arrival = Instant::at(row.arrival);
            job.gpus = row.gpus;
            job.batch = row.batch;
            job.application = tables.find(row.application);
            job.restart = job.application->restart;
        }
    }
    sim::ScheduledWorkload workload() const { return {{16, 4}, minutes(1), jobs}; }

    traces::ApplicationTables tables;
    std::vector<sim::SharingJob> jobs;
};

void pollux_six(benchmark::State& state, const char* scheduler, double peer_s, bool with_reading) {
    const auto data = recorded_data("pollux/workloads");
    if (!data) {
        state.SkipWithError("skipped: no recorded data: pollux/workloads");
        return;
    }
    const PolluxWorkload known(*data);
    for (auto _ : state) {
        const auto called = scheduler_called(scheduler);
        if (with_reading) {
            const PolluxWorkload read(*data);
            benchmark::DoNotOptimize(sim::run_schedule(read.workload(), *called));
        } else {
            benchmark::DoNotOptimize(sim::run_schedule(known.workload(), *called));
        }
    }
    state.counters["peer_s"] = peer_s;
    state.counters["times_as_fast"] = benchmark::Counter(
        peer_s * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(pollux_six, tiresias, "tiresias", 0.95, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pollux_six, tiresias_with_reading, "tiresias", 0.95, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pollux_six, optimus, "optimus", 4.1, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pollux_six, optimus_with_reading, "optimus", 4.1, true)
    ->Unit(benchmark::kMillisecond);

// All clusters' jobs that are there, on one cluster of 250 machines of eight GPUs.
void microsoft_itp(benchmark::State& state, const char* scheduler) {
    const auto data = recorded_data("elasticflow_ms_itp/raw-traces");
    if (!data) {
        state.SkipWithError("skipped: no recorded data: elasticflow_ms_itp/raw-traces");
        return;
    }
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(*data / "elasticflow_ms_itp/raw-traces")) {
        files.push_back(entry.path());
    }
    std::ranges::sort(files);
    constexpr std::int32_t machines = 250;
    constexpr std::int32_t gpus_per_machine = 8;
    std::vector<sim::SharingJob> jobs;
    for (const traces::WorkloadRow& row : traces::read_workloads(files)) {
        sim::SharingJob& job = jobs.emplace_back();
        job.arrival = Instant::at(row.arrival);
        job.gpus = std::min(row.gpus, machines * gpus_per_machine);
        job.service = row.service;
    }
    std::int64_t decisions = 0;
    for (auto _ : state) {
        const auto called = scheduler_called(scheduler);
        const auto outcome = sim::run_schedule({{machines, gpus_per_machine}, {}, jobs}, *called);
        decisions = outcome.decisions;
    }
    state.counters["jobs"] = static_cast<double>(jobs.size());
    state.counters["decisions"] = static_cast<double>(decisions);
}
BENCHMARK_CAPTURE(microsoft_itp, tiresias, "tiresias")->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(microsoft_itp, fifo, "fifo")->Unit(benchmark::kSecond);

}  // namespace

}  // namespace ukemi

BENCHMARK_MAIN();
