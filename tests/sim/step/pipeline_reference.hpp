// pipeline_reference.hpp — when each pass of a pipeline runs, worked out the plain way: the lists
// of passes are held to closed forms with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/invariant.hpp"
#include "base/quantity.hpp"
#include "sim/step/pipeline.hpp"

namespace ukemi {

struct PassTimes {
    Duration forward;  // of one micro-batch on one of a worker's chunks
    Duration backward;
    Duration transfer;      // of activations or their gradients, between two stages
    Duration weights = {};  // where they are apart: after the backward pass; else a part of it
    Duration pair = {};     // of a forward and a whole backward pass side by side
};

struct PipelineStep {
    Duration length;
    Duration ideal;                       // of a worker that never waits
    std::vector<std::int32_t> most_kept;  // by worker: passes whose activations it keeps at once
    double bubble() const { return (length - ideal) / ideal; }
};

class PipelineRun {
public:
    PipelineRun(const sim::PipelineSpec& spec, const PassTimes& times)
        : spec_(spec),
          times_(times),
          stages_(spec.stages()),
          ends_(
              static_cast<std::size_t>(2 * stages_) * static_cast<std::size_t>(spec.micro_batches),
              Instant::never()) {
        for (std::int32_t worker = 0; worker < spec.workers; ++worker) {
            lists_.push_back(sim::pipeline_passes(spec, worker));
        }
        done_.resize(lists_.size());
        free_at_.resize(lists_.size());
    }

    PipelineStep run() {
        PipelineStep step;
        step.most_kept.resize(lists_.size());
        std::vector<std::int32_t> kept(lists_.size());
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
                while (done_[worker] < lists_[worker].size() && play(worker)) {
                    moved = true;
                    const sim::PipelinePass& pass = lists_[worker][done_[worker]++];
                    kept[worker] += pass.forward ? 1 : pass.inputs ? 0 : -1;
                    step.most_kept[worker] = std::max(step.most_kept[worker], kept[worker]);
                }
            }
        }
        for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
            INVARIANT(done_[worker] == lists_[worker].size());
            step.length = std::max(step.length, free_at_[worker].since_start());
        }
        step.ideal = (std::int64_t{spec_.micro_batches} * spec_.chunks) *
                     (times_.forward + times_.backward + times_.weights);
        return step;
    }

private:
    Instant& end_of(bool forward, std::int32_t stage, std::int32_t micro_batch) {
        const std::int64_t row = (forward ? 0 : stages_) + stage;
        return ends_[static_cast<std::size_t>(row * spec_.micro_batches + micro_batch)];
    }

    // Whether the worker's next pass could run: what it needs is known.
    bool play(std::size_t worker) {
        const sim::PipelinePass& pass = lists_[worker][done_[worker]];
        if (pass.weights) {
            free_at_[worker] = free_at_[worker] + times_.weights;
            return true;
        }
        const Instant ready = ready_at(pass);
        if (ready == Instant::never()) return false;
        Instant begin = std::max(ready, free_at_[worker]);
        if (pass.beside_next) {  // both end with the pair
            const sim::PipelinePass& next = lists_[worker][done_[worker] + 1];
            const Instant other = ready_at(next);
            if (other == Instant::never()) return false;
            begin = std::max(begin, other) + (times_.pair - length_of(pass) - length_of(next));
        }
        const bool second = done_[worker] > 0 && lists_[worker][done_[worker] - 1].beside_next;
        const Instant end = second ? free_at_[worker] + length_of(pass) : begin + length_of(pass);
        free_at_[worker] = end;
        end_of(pass.forward, pass.stage, pass.micro_batch) =
            pass.beside_next ? end + length_of(lists_[worker][done_[worker] + 1]) : end;
        return true;
    }

    Duration length_of(const sim::PipelinePass& pass) const {
        if (pass.forward) return times_.forward;
        const bool whole = spec_.copies() > 1 && !pass.inputs;
        return whole ? times_.backward + times_.weights : times_.backward;
    }

    // Its input is there; never: not known yet.
    Instant ready_at(const sim::PipelinePass& pass) {
        if (pass.forward && spec_.is_first(pass.stage)) return {};
        const bool turning = !pass.forward && spec_.is_last(pass.stage);
        const std::int32_t before = turning        ? pass.stage
                                    : pass.forward ? pass.stage - 1
                                                   : pass.stage + 1;
        const Instant ready = end_of(pass.forward || turning, before, pass.micro_batch);
        const bool sent = !turning && spec_.workers > 1 && ready != Instant::never();
        return sent ? ready + times_.transfer : ready;
    }

    const sim::PipelineSpec& spec_;
    const PassTimes& times_;
    std::int32_t stages_;
    std::vector<Instant> ends_;  // of forward passes, then of backward ones; never: not yet
    std::vector<std::vector<sim::PipelinePass>> lists_;
    std::vector<std::size_t> done_;
    std::vector<Instant> free_at_;
};

inline PipelineStep pipeline_step(const sim::PipelineSpec& spec, const PassTimes& times) {
    sim::check_pipeline(spec, "test");
    return PipelineRun(spec, times).run();
}

}  // namespace ukemi
