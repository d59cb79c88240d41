// machine_costs.hpp — what this machine needs for the parts of a step, whatever is trained: copies,
// collectives, codecs, monitors, checkpoints, communicators.
//
// Copies, codecs and monitors are those of the device that computes (measured_device.hpp), by its
// own clock: the processor's, or a GPU's, where copies between it and the host are measured too,
// and the host's own. Every size is warmed up, then timed operation by operation; collectives and
// codecs are compared with what they should give before they are timed, and the number of wrong
// elements is kept with the times, as nccl-tests does. Collectives run between threads of this
// process over TCP connections on 127.0.0.1: what two processes would use, without their
// scheduling.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/line_fit.hpp"
#include "kernels/measured_device.hpp"
#include "kernels/measured_times.hpp"

namespace ukemi::kernels {

struct MachinePoint {
    std::int64_t bytes = 0;
    std::int64_t wrong = 0;  // elements that were not what they should be
    MeasuredTimes times;
};

struct MachineCurve {
    std::string name;  // "copy", "all_reduce ring", "codec qsgd", "checkpoint write", …
    int ranks = 1;
    std::vector<MachinePoint> points;  // in increasing order of bytes
    // α–β over the medians: seconds, and seconds a byte. Nothing for a single size.
    std::optional<LineFit> fit() const;
};

struct MachineOptions {
    int ranks = 2;        // of the collectives; 1 leaves them out
    int warm_up = 3;      // operations that are not timed, for each size
    int operations = 30;  // that are
    std::int64_t bytes_most = 16 << 20;
    MeasuredDevice* device = nullptr;            // null: this host
    std::int64_t device_bytes_most = 256 << 20;  // beyond what its caches hold
    std::filesystem::path folder = {};           // for checkpoints; exists
};

struct MachineCosts {
    int warm_up = 0;
    std::int64_t device_memory_bytes = 0;  // 0: nobody knows
    std::vector<MachineCurve> curves;
    // Times of the same machine, measured at another moment: each joins those of its own size.
    void add(const MachineCosts& more);
};

MachineCosts measure_machine(const MachineOptions& options);
// Of it, all-reduces by schedule and the making of a communicator; nothing for one rank.
std::vector<MachineCurve> measure_collectives(const MachineOptions& options);

// nccl-tests' factor from algorithm to bus bandwidth (its doc/PERFORMANCE.md): 2(n−1)/n for an
// all-reduce, (n−1)/n for an all-gather, a reduce-scatter and an all-to-all, 1 for what has a root.
double bus_factor(std::string_view collective, int ranks);

}  // namespace ukemi::kernels
