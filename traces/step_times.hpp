// step_times.hpp — measured times of steps by placement and batch; between the measured ones, if
// it is asked for, an interpolation of our own.
//
// The interpolation: a straight-line model of the part without communication (1, batch) and of the
// communication (GPUs and machines beyond the first, batch where there are several), fitted by
// least squares of relative errors to all rows, times the ratio of measured to modelled of the rows
// nearby, each weighed by 1 / distance⁴ (machines, GPUs and batch by their logarithms). It gives
// measured rows themselves; elsewhere it is a guess that no peer shares.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ukemi::traces {

struct ApplicationStep {
    double step_s = 0;
    double sync_s = 0;  // of it, without overlap
};

class StepTimes {
public:
    // Where a row is given twice, the first counts.
    void add(std::span<const std::int32_t> gpus_by_machine, std::int64_t batch_per_gpu,
             const ApplicationStep& step);
    // A row that says how many machines, and not how many GPUs on each: to interpolate from only.
    void add_spread(std::int32_t gpus, std::int32_t machines, std::int64_t batch_per_gpu,
                    const ApplicationStep& step);
    bool empty() const { return rows_.empty(); }
    // Null: not measured. Any rotation of machines is the same.
    const ApplicationStep* find(std::span<const std::int32_t> gpus_by_machine,
                                std::int64_t batch_per_gpu) const;
    // After `fit`, which wants at least one row.
    ApplicationStep interpolated(std::span<const std::int32_t> gpus_by_machine,
                                 std::int64_t batch_per_gpu) const;
    void fit();

private:
    static constexpr std::size_t compute_terms = 2;
    static constexpr std::size_t sync_terms = 6;
    struct Shape {
        double machines = 1;
        double gpus = 1;
        double batch = 1;
        std::array<double, 3> logarithms{};  // of these
    };
    static Shape shape_of(std::size_t machines, std::int64_t gpus, std::int64_t batch);
    struct Row {
        Shape shape;
        ApplicationStep step;
        double compute_ratio = 1;  // measured over modelled
        double sync_ratio = 1;
    };
    static Shape shape_of(std::span<const std::int32_t> gpus_by_machine, std::int64_t batch);
    static std::array<double, sync_terms> terms_of(const Shape& shape);
    double compute_of(const Shape& shape) const;
    double sync_of(const Shape& shape) const;

    std::map<std::pair<std::string, std::int64_t>, ApplicationStep> measured_;
    std::vector<Row> rows_;
    std::array<double, compute_terms> compute_{};
    std::array<double, sync_terms> sync_{};
};

}  // namespace ukemi::traces
