// cpu_device.cpp — learners as threads: what a CUDA device with streams is to do, said plainly.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <shared_mutex>
#include <thread>

#include "base/invariant.hpp"
#include "kernels/averaging.hpp"
#include "kernels/learners/learner_device.hpp"

namespace ukemi {

namespace {

struct Work {
    const InputBatch* batch = nullptr;
    LearnerDevice::Step step;
    std::size_t slot = 0;
    LearnerDevice::Done done;
};

class CpuDevice final : public LearnerDevice {
public:
    CpuDevice(const Model& model, std::int32_t features, std::int32_t classes,
              std::span<const float> weights)
        : model_(model),
          features_(features),
          classes_(classes),
          central_(std::vector<float>(weights.begin(), weights.end())) {
        INVARIANT(weights.size() == model.parameter_count());
    }
    ~CpuDevice() override {
        for (const auto& learner : learners_) learner->stop();
    }

    std::size_t parameters() const override { return model_.parameter_count(); }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
        return {new std::byte[bytes], [](std::byte* memory) { delete[] memory; }};
    }

    void use_learners(int count, std::size_t slots) override {
        INVARIANT(count >= 1);
        corrections_.resize(std::max(slots, corrections_.size()));
        for (std::vector<float>& one : corrections_) one.resize(parameters());
        const auto wanted = static_cast<std::size_t>(count);
        while (learners_.size() < wanted) {
            learners_.push_back(std::make_unique<Learner>(*this));
        }
        // Who was not used for a while has an old model.
        for (std::size_t i = used_; i < wanted; ++i) learners_[i]->begin_at(central_);
        used_ = wanted;
    }
    int learners_made() const override { return static_cast<int>(learners_.size()); }

    void start(int learner, const InputBatch& batch, const Step& step, std::size_t slot,
               Done done) override {
        const auto place = static_cast<std::size_t>(learner);
        INVARIANT(place < used_ && slot < corrections_.size());
        learners_[place]->put({&batch, step, slot, std::move(done)});
    }

    Outcome synchronise(std::size_t first, std::size_t count, float momentum,
                        const Exchange& exchange) override {
        INVARIANT(first + count <= corrections_.size());
        std::vector<float> sum(parameters(), 0.0F);
        for (std::size_t slot = first; slot < first + count; ++slot) {
            const std::vector<float>& one = corrections_[slot];
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
        }
        if (exchange) {
            const Outcome outcome = exchange(sum);
            if (outcome != Outcome::ok) return outcome;
        }
        const std::unique_lock lock(central_mutex_);
        central_.step(sum, momentum);
        return Outcome::ok;
    }

    std::vector<float> central() override {
        const std::shared_lock lock(central_mutex_);
        return {central_.weights().begin(), central_.weights().end()};
    }
    std::vector<float> weights(int learner) override {
        return learners_.at(static_cast<std::size_t>(learner))->weights();
    }
    void restart(std::span<const float> weights) override {
        central_ = CentralModel(std::vector<float>(weights.begin(), weights.end()));
        for (const auto& learner : learners_) learner->begin_at(central_);
    }

private:
    class Learner {
    public:
        explicit Learner(CpuDevice& device)
            : device_(device),
              weights_(device.parameters()),
              velocity_(device.parameters()),
              gradient_(device.parameters()),
              workspace_(device.model_.make_workspace()),
              thread_([this] { run(); }) {}

        void begin_at(const CentralModel& central) {
            const std::lock_guard lock(mutex_);
            INVARIANT(!busy_ && work_.empty());
            central.restart_learner(weights_, velocity_);
        }
        void put(Work work) {
            {
                const std::lock_guard lock(mutex_);
                work_.push_back(std::move(work));
            }
            changed_.notify_one();
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
            return weights_;
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
                work.done(result);
            }
        }

        BatchResult train(const Work& work) {
            const InputBatch& batch = *work.batch;
            // What a device does in its copy engine.
            data_.count = batch.count;
            data_.features = device_.features_;
            data_.classes = device_.classes_;
            data_.values.assign(batch.values.begin(), batch.values.end());
            data_.labels.assign(batch.labels.begin(), batch.labels.end());
            samples_.resize(static_cast<std::size_t>(batch.count));
            std::iota(samples_.begin(), samples_.end(), 0U);
            std::ranges::fill(gradient_, 0.0F);
            const BatchResult result =
                device_.model_.gradient(weights_, data_, samples_, gradient_, *workspace_, {});
            const auto count = static_cast<float>(batch.count);
            for (float& value : gradient_) value /= count;
            std::vector<float>& correction = device_.corrections_[work.slot];
            std::ranges::fill(correction, 0.0F);
            const std::shared_lock lock(device_.central_mutex_);
            averaged_learner_step(work.step.rule, work.step.pull, device_.central_.weights(),
                                  gradient_, weights_, velocity_, correction);
            return result;
        }

        CpuDevice& device_;
        std::vector<float> weights_;
        std::vector<float> velocity_;
        std::vector<float> gradient_;
        std::unique_ptr<Model::Workspace> workspace_;
        DataSet data_;
        std::vector<std::uint32_t> samples_;
        std::mutex mutex_;
        std::condition_variable changed_;
        std::deque<Work> work_;
        bool busy_ = false;
        bool stopping_ = false;
        std::thread thread_;
    };

    const Model& model_;
    std::int32_t features_;
    std::int32_t classes_;
    std::shared_mutex central_mutex_;
    CentralModel central_;
    std::vector<std::vector<float>> corrections_;
    std::vector<std::unique_ptr<Learner>> learners_;
    std::size_t used_ = 0;
};

}  // namespace

std::unique_ptr<LearnerDevice> make_cpu_device(const Model& model, std::int32_t features,
                                               std::int32_t classes,
                                               std::span<const float> weights) {
    return std::make_unique<CpuDevice>(model, features, classes, weights);
}

}  // namespace ukemi
