#include "kernels/learners/learner_engine.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "base/invariant.hpp"

namespace ukemi::kernels {

namespace {

struct Ended {
    TaskBinding task;
    BatchResult result;
};

// What learners report, from their threads; each `done` holds it, since one may come after a run
// that has failed.
class EndedTasks {
public:
    void put(const Ended& ended) {
        {
            const std::lock_guard lock(mutex_);
            ended_.push_back(ended);
        }
        changed_.notify_one();
    }
    // Waits for one; throws if the device has failed meanwhile.
    Ended take(LearnerDevice& device) {
        constexpr std::chrono::milliseconds patience{100};
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, patience, [&] { return !ended_.empty(); })) {
            lock.unlock();
            device.throw_if_failed();
            lock.lock();
        }
        const Ended first = ended_.front();
        ended_.pop_front();
        return first;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Ended> ended_;
};

// Unless a run ends as it should, no batch may go back to its pool before the device is quiet.
class SettledOnError {
public:
    explicit SettledOnError(LearnerDevice& device) : device_(device) {}
    ~SettledOnError() {
        if (!over_) device_.settle();
    }
    SettledOnError(const SettledOnError&) = delete;
    SettledOnError& operator=(const SettledOnError&) = delete;
    void run_is_over() { over_ = true; }

private:
    LearnerDevice& device_;
    bool over_ = false;
};

// Slots for the corrections of every clock that can be under way at once.
std::int64_t clocks_of_slots(std::int64_t slack) {
    constexpr std::int64_t most = 64;  // of an unbounded slack
    return std::min(slack, most - 1) + 1;
}

}  // namespace

LearnerEngine::LearnerEngine(LearnerDevice& device, InputPipeline& input, EngineSettings settings,
                             Time now)
    : device_(device),
      input_(input),
      settings_(std::move(settings)),
      now_(now ? std::move(now)
               : [] { return std::chrono::steady_clock::now().time_since_epoch(); }) {
    set_learners(settings_.learners_per_gpu);
}

void LearnerEngine::set_learners(int per_gpu) {
    INVARIANT(per_gpu >= 1);
    INVARIANT(!device_.batched() || settings_.slack == 0);
    INVARIANT(per_gpu < input_.buffers_most());  // or they would wait for each other's
    settings_.learners_per_gpu = per_gpu;
    const std::int64_t slots = per_gpu * clocks_of_slots(settings_.slack);
    device_.use_learners(per_gpu, static_cast<std::size_t>(slots));
}

void LearnerEngine::set_step(const LearnerDevice::Step& step, float central_momentum) {
    settings_.step = step;
    settings_.central_momentum = central_momentum;
}

EngineReport LearnerEngine::run(std::int64_t clocks) {
    EngineReport report;
    TaskScheduler scheduler({.gpus = 1,
                             .learners_per_gpu = settings_.learners_per_gpu,
                             .tasks_per_clock = 0,
                             .slack = settings_.slack,
                             .binding = settings_.binding});
    const std::int64_t per_clock = scheduler.tasks_per_clock();
    const std::int64_t slot_clocks = clocks_of_slots(settings_.slack);
    const std::int64_t total = clocks * per_clock;
    report.tasks_of.assign(static_cast<std::size_t>(scheduler.learners()), 0);
    // By learner: which of them ended first shall not change the sum of all.
    std::vector<BatchResult> sums(report.tasks_of.size());
    std::map<std::int64_t, InputPipeline::Lease> batches;  // of tasks under way
    SettledOnError settled(device_);                       // before the batches go
    const auto ended = std::make_shared<EndedTasks>();
    const std::int64_t waits_before = input_.waits();
    const std::chrono::nanoseconds waited_before = input_.waited();
    const auto begun = now_();
    const auto start_what_can = [&] {
        while (report.outcome == Outcome::ok && scheduler.next_task() < total) {
            const std::int64_t clock = scheduler.clock_of(scheduler.next_task());
            if (clock - scheduler.clock() > slot_clocks) return;  // its slots are still in use
            const auto task = scheduler.bind();
            if (!task) return;
            report.ahead_most = std::max(report.ahead_most, clock - scheduler.clock() - 1);
            const InputBatch& batch = *(batches[task->task] = input_.next());
            const std::int64_t slot =
                task->clock % slot_clocks * per_clock + task->task % per_clock;
            device_.start(task->learner, batch, settings_.step, static_cast<std::size_t>(slot),
                          [ended, task = *task](const BatchResult& result) {
                              ended->put({task, result});
                          });
        }
    };
    start_what_can();
    while (scheduler.running() > 0) {
        const Ended one = ended->take(device_);
        report.samples += batches.at(one.task.task)->count;
        batches.erase(one.task.task);
        ++report.tasks;
        ++report.tasks_of[static_cast<std::size_t>(one.task.learner)];
        BatchResult& sum = sums[static_cast<std::size_t>(one.task.learner)];
        sum.loss_sum += one.result.loss_sum;
        sum.correct += one.result.correct;
        bool complete = scheduler.finish(one.task);
        while (complete && report.outcome == Outcome::ok) {
            const std::int64_t first = (scheduler.clock() + 1) % slot_clocks * per_clock;
            report.outcome = device_.synchronise(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(per_clock),
                                                 settings_.central_momentum, settings_.exchange);
            if (report.outcome != Outcome::ok) break;
            complete = scheduler.synchronised();
        }
        start_what_can();
    }
    settled.run_is_over();
    report.s = std::chrono::duration<double>(now_() - begun).count();
    report.clocks = scheduler.clock();
    report.input_waits = input_.waits() - waits_before;
    report.input_waited = input_.waited() - waited_before;
    for (const BatchResult& sum : sums) {
        report.sum.loss_sum += sum.loss_sum;
        report.sum.correct += sum.correct;
    }
    if (report.samples > 0) {
        report.loss = report.sum.loss_sum / static_cast<double>(report.samples);
        report.accuracy = report.sum.correct / static_cast<double>(report.samples);
    }
    return report;
}

}  // namespace ukemi::kernels
