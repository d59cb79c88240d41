// cpu_device.cpp — learners as threads: what a CUDA device with streams is to do, said plainly.
#include <condition_variable>
#include <deque>
#include <thread>

#include "kernels/learners/cpu_centre.hpp"

namespace ukemi::kernels {

namespace {

class CpuDevice final : public CpuCentre {
public:
    using CpuCentre::CpuCentre;
    ~CpuDevice() override {
        for (const auto& learner : learners_) learner->stop();
    }

    void use_learners(int count, std::size_t slots) override {
        INVARIANT(count >= 1);
        make_slots(slots);
        const auto wanted = static_cast<std::size_t>(count);
        while (learners_.size() < wanted) {
            learners_.push_back(std::make_unique<Learner>(*this));
        }
        // Who was not used for a while has an old model.
        for (std::size_t i = used_; i < wanted; ++i) learners_[i]->begin_anew();
        used_ = wanted;
    }
    int learners_made() const override { return static_cast<int>(learners_.size()); }

    void start(int learner, const InputBatch& batch, const Step& step, std::size_t slot,
               Done done) override {
        const auto place = static_cast<std::size_t>(learner);
        INVARIANT(place < used_ && slot < corrections_.size());
        learners_[place]->put({&batch, step, slot, std::move(done)});
    }
    void settle() noexcept override {
        for (const auto& learner : learners_) learner->wait_until_idle();
    }
    std::vector<float> weights(int learner) override {
        return learners_.at(static_cast<std::size_t>(learner))->weights();
    }
    void restart(std::span<const float> weights, std::span<const float> previous) override {
        central_ =
            CentralModel({weights.begin(), weights.end()}, {previous.begin(), previous.end()});
        for (const auto& learner : learners_) learner->begin_anew();
    }

private:
    class Learner {
    public:
        explicit Learner(CpuDevice& device)
            : device_(device), replica_(device.model_), thread_([this] { run(); }) {}

        void begin_anew() {
            const std::lock_guard lock(mutex_);
            INVARIANT(!busy_ && work_.empty());
            device_.begin_at_centre(replica_);
        }
        void put(Work work) {
            {
                const std::lock_guard lock(mutex_);
                work_.push_back(std::move(work));
            }
            changed_.notify_one();
        }
        void wait_until_idle() {
            std::unique_lock lock(mutex_);
            idle_.wait(lock, [&] { return !busy_ && work_.empty(); });
        }
        void stop() {
            {
                const std::lock_guard lock(mutex_);
                stopping_ = true;
            }
            changed_.notify_one();
            if (thread_.joinable()) thread_.join();
        }
        std::vector<float> weights() {
            const std::lock_guard lock(mutex_);
            INVARIANT(!busy_ && work_.empty());
            return replica_.weights;
        }

    private:
        void run() {
            for (;;) {
                Work work;
                {
                    std::unique_lock lock(mutex_);
                    busy_ = false;
                    changed_.wait(lock, [&] { return stopping_ || !work_.empty(); });
                    if (work_.empty()) return;
                    work = std::move(work_.front());
                    work_.pop_front();
                    busy_ = true;
                }
                const BatchResult result = train(work);
                {
                    const std::lock_guard lock(mutex_);
                    busy_ = false;
                }
                idle_.notify_all();
                work.done(result);
            }
        }
        BatchResult train(const Work& work) {
            device_.take_batch(*work.batch, replica_);
            const BatchResult result =
                device_.model_.gradient(replica_.weights, replica_.data, replica_.samples,
                                        replica_.gradient, *replica_.workspace, {});
            device_.step_replica(work, replica_);
            return result;
        }

        CpuDevice& device_;
        Replica replica_;
        std::mutex mutex_;
        std::condition_variable changed_;
        std::condition_variable idle_;
        std::deque<Work> work_;
        bool busy_ = false;
        bool stopping_ = false;
        std::thread thread_;
    };

    std::vector<std::unique_ptr<Learner>> learners_;
    std::size_t used_ = 0;
};

}  // namespace

std::unique_ptr<LearnerDevice> make_cpu_device(const Model& model, std::int32_t features,
                                               std::int32_t classes,
                                               std::span<const float> weights) {
    return std::make_unique<CpuDevice>(model, features, classes, weights);
}

}  // namespace ukemi::kernels
