// learner_engine.hpp — Crossbow's loop: batches from the input pipeline to learners, by the
// scheduler; synchronisations where a clock ends; and the search for the number of learners.
//
// One thread runs it, the caller's; learners and input threads work beside it. With the binding
// `fixed` a run is a function of data, seed and settings, bit for bit; first come, first served it
// is not, but every batch is used exactly once and no learner passes the slack. A synchronisation
// that fails ends the run and changes nothing. What a device or the input throws goes on to the
// caller once no batch is read any more; what had been done by then stays as it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/learners/learner_device.hpp"
#include "kernels/learners/task_scheduler.hpp"
#include "policies/size/learner_tuning.hpp"

namespace ukemi::kernels {

struct EngineSettings {
    int learners_per_gpu = 1;
    std::int64_t slack = 0;
    Binding binding = Binding::first_come;
    LearnerDevice::Step step;
    float central_momentum = 0;
    LearnerDevice::Exchange exchange;  // with the devices of other processes; may be null
};

struct EngineReport {
    Outcome outcome = Outcome::ok;
    std::int64_t clocks = 0;
    std::int64_t tasks = 0;
    std::int64_t samples = 0;
    BatchResult sum;  // over the samples
    double loss = 0;  // mean over them
    double accuracy = 0;
    std::vector<std::int64_t> tasks_of;  // by learner
    std::int64_t ahead_most = 0;         // clocks by which a task ran ahead of its synchronisation
    std::int64_t input_waits = 0;
    std::chrono::nanoseconds input_waited{};  // for those, by the input's clock
    double s = 0;                             // by the clock of the engine
    double samples_per_s() const { return s > 0 ? static_cast<double>(samples) / s : 0; }
};

class LearnerEngine {
public:
    using Time = std::function<std::chrono::nanoseconds()>;
    // Both outlive it. The pipeline has more buffers than there are learners. Without a clock of
    // its own it goes by the machine's.
    LearnerEngine(LearnerDevice& device, InputPipeline& input, EngineSettings settings,
                  Time now = {});

    // So many clocks; every task of them is done and synchronised when it returns.
    EngineReport run(std::int64_t clocks);
    // Between runs. New learners begin at the central model.
    void set_learners(int per_gpu);
    int learners_per_gpu() const { return settings_.learners_per_gpu; }
    // Of the runs to come.
    void set_step(const LearnerDevice::Step& step, float central_momentum);

private:
    LearnerDevice& device_;
    InputPipeline& input_;
    EngineSettings settings_;
    Time now_;
};

}  // namespace ukemi::kernels
