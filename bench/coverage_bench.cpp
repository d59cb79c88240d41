// coverage_bench.cpp — of 1,000 repetitions, in how many the printed 95 % interval holds the truth.
//
// With 6, 10 and 30 traces of a population of generated markets (bench/coverage.hpp), for means,
// differences and ratios. Exit 1 if a share is below 92 or above 97 %, where there are a thousand
// repetitions or more. Usage: bench_coverage [REPETITIONS [SPREAD]]
#include <fmt/format.h>

#include <cstdlib>
#include <thread>

#include "bench/coverage.hpp"

namespace {

using namespace ukemi;

int measure(std::size_t repetitions, double spread) {
    constexpr std::size_t long_traces = 20'000;
    const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const coverage::MarketPopulation population(spread);
    const auto truth = coverage::long_simulation(population, long_traces, threads);
    fmt::print("spread of traces {}; {} traces say:\n", spread, long_traces);
    for (std::size_t i = 0; i < truth.size(); ++i) {
        fmt::print("  {:<24} {:8.3f} +- {:.3f}\n", coverage::interval_names[i], truth[i].mean,
                   truth[i].high - truth[i].mean);
    }
    int outside = 0;
    for (const std::size_t traces : {6U, 10U, 30U}) {
        const auto held = coverage::times_held(population, truth, traces, repetitions, threads);
        fmt::print("{:>3} traces, {} repetitions:", traces, repetitions);
        for (std::size_t i = 0; i < held.size(); ++i) {
            const double percent =
                100 * static_cast<double>(held[i]) / static_cast<double>(repetitions);
            outside += percent < 92 || percent > 97;
            fmt::print("  {} {:.1f} %", coverage::interval_names[i], percent);
        }
        fmt::print("\n");
    }
    return outside;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t repetitions = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    const double spread = argc > 2 ? std::strtod(argv[2], nullptr) : 0.5;
    return measure(repetitions, spread) > 0 && repetitions >= 1000 ? 1 : 0;
}
