// cpu_batched_device.cpp — learners batched together on one thread: what a CUDA device does that
// computes the layers of all of them in one call each.
#include <condition_variable>
#include <thread>

#include "kernels/learners/cpu_centre.hpp"
#include "studies/batched_learners/batched_devices.hpp"

namespace ukemi::studies {

namespace {

class CpuBatchedDevice final : public kernels::CpuCentre {
public:
    CpuBatchedDevice(const kernels::Model& model, std::int32_t features, std::int32_t classes,
                     std::span<const float> weights)
        : CpuCentre(model, features, classes, weights), thread_([this] { run(); }) {}
    ~CpuBatchedDevice() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

    bool batched() const override { return true; }
    void use_learners(int count, std::size_t slots) override {
        INVARIANT(count >= 1);
        const std::lock_guard lock(mutex_);
        INVARIANT(!busy_ && given_ == 0);
        make_slots(slots);
        const auto wanted = static_cast<std::size_t>(count);
        while (replicas_.size() < wanted) replicas_.push_back(std::make_unique<Replica>(model_));
        for (std::size_t i = used_; i < wanted; ++i) begin_at_centre(*replicas_[i]);
        used_ = wanted;
        work_.resize(used_);
    }
    int learners_made() const override { return static_cast<int>(replicas_.size()); }

    void start(int learner, const kernels::InputBatch& batch, const Step& step, std::size_t slot,
               Done done) override {
        {
            const std::lock_guard lock(mutex_);
            const auto place = static_cast<std::size_t>(learner);
            INVARIANT(place < used_ && slot < corrections_.size());
            INVARIANT(work_[place].batch == nullptr);  // a task at a time
            work_[place] = {&batch, step, slot, std::move(done)};
            if (++given_ < used_) return;
        }
        changed_.notify_one();
    }
    void settle() noexcept override {
        std::unique_lock lock(mutex_);
        if (given_ < used_) {
            for (Work& one : work_) one = {};
            given_ = 0;
        }
        idle_.wait(lock, [&] { return !busy_ && given_ == 0; });
    }
    std::vector<float> weights(int learner) override {
        const std::lock_guard lock(mutex_);
        INVARIANT(!busy_);
        return replicas_.at(static_cast<std::size_t>(learner))->weights;
    }
    void restart(std::span<const float> weights, std::span<const float> previous) override {
        const std::lock_guard lock(mutex_);
        INVARIANT(!busy_ && given_ == 0);
        central_ = kernels::CentralModel({weights.begin(), weights.end()},
                                         {previous.begin(), previous.end()});
        for (const auto& replica : replicas_) begin_at_centre(*replica);
    }

private:
    void run() {
        for (;;) {
            std::vector<Work> work;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return stopping_ || (used_ > 0 && given_ == used_); });
                if (used_ == 0 || given_ < used_) return;
                work = std::exchange(work_, std::vector<Work>(used_));
                given_ = 0;
                busy_ = true;
            }
            const std::vector<kernels::Model::ReplicaBatch> trained = train(work);
            {
                const std::lock_guard lock(mutex_);
                busy_ = false;
            }
            idle_.notify_all();
            for (std::size_t i = 0; i < work.size(); ++i) work[i].done(trained[i].result);
        }
    }
    std::vector<kernels::Model::ReplicaBatch> train(const std::vector<Work>& work) {
        std::vector<kernels::Model::ReplicaBatch> batches;
        for (std::size_t i = 0; i < work.size(); ++i) {
            Replica& replica = *replicas_[i];
            take_batch(*work[i].batch, replica);
            batches.push_back({replica.weights,
                               &replica.data,
                               replica.samples,
                               replica.gradient,
                               replica.workspace.get(),
                               {}});
        }
        model_.gradients(batches);
        for (std::size_t i = 0; i < work.size(); ++i) step_replica(work[i], *replicas_[i]);
        return batches;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::condition_variable idle_;
    std::vector<std::unique_ptr<Replica>> replicas_;
    std::vector<Work> work_;  // of the learners in use
    std::size_t used_ = 0;
    std::size_t given_ = 0;
    bool busy_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<kernels::LearnerDevice> make_cpu_batched_device(const kernels::Model& model,
                                                                std::int32_t features,
                                                                std::int32_t classes,
                                                                std::span<const float> weights) {
    return std::make_unique<CpuBatchedDevice>(model, features, classes, weights);
}

}  // namespace ukemi::studies
