#include "kernels/cuda/measured_device.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "base/invariant.hpp"
#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/device_parts.hpp"

namespace ukemi::kernels::cuda {

namespace {

// The device's own time of what is put on a stream.
class Stopwatch {
public:
    Stopwatch() : stream_(make_stream()), begin_(make_event()), end_(make_event()) {}
    cudaStream_t stream() const { return stream_.get(); }
    template <class Launch>
    double seconds(const Launch& launch) const {
        check(cudaEventRecord(begin_.get(), stream()));
        launch();
        check(cudaEventRecord(end_.get(), stream()));
        check(cudaEventSynchronize(end_.get()));
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
        return static_cast<double>(milliseconds) / 1000;
    }

private:
    Stream stream_;
    Event begin_;
    Event end_;
};

enum class Way : std::uint8_t { within, to_device, to_host };

class Copy final : public DeviceWork {
public:
    Copy(Way way, bool pinned, std::size_t bytes)
        : way_(way),
          count_(bytes / sizeof(float)),
          pageable_(pinned ? 0 : count_),
          pinned_(pinned ? pinned_memory(count_ * sizeof(float)) : nullptr),
          from_(made_gradient("copy", count_)),
          to_(count_) {}
    std::int64_t wrong() override {
        const std::vector<float> right = made_gradient("copy", count_);
        float* host = on_host();
        if (way_ == Way::to_device) std::ranges::copy(right, host);
        seconds();
        const std::vector<float> device = to_.read();
        const float* found = way_ == Way::to_host ? host : device.data();
        return std::ranges::equal(right, std::span(found, count_)) ? 0 : 1;
    }
    double seconds() override {
        const std::size_t bytes = count_ * sizeof(float);
        return watch_.seconds([&] {
            cudaStream_t stream = watch_.stream();
            switch (way_) {
                case Way::within:
                    check(cudaMemcpyAsync(to_.data(), from_.data(), bytes, cudaMemcpyDeviceToDevice,
                                          stream));
                    break;
                case Way::to_device:
                    check(cudaMemcpyAsync(to_.data(), on_host(), bytes, cudaMemcpyHostToDevice,
                                          stream));
                    break;
                case Way::to_host:
                    check(cudaMemcpyAsync(on_host(), from_.data(), bytes, cudaMemcpyDeviceToHost,
                                          stream));
                    break;
            }
        });
    }

private:
    float* on_host() {
        return pinned_ ? reinterpret_cast<float*>(pinned_.get()) : pageable_.data();
    }
    Way way_;
    std::size_t count_;
    std::vector<float> pageable_;
    std::shared_ptr<std::byte> pinned_;
    Buffer<float> from_;
    Buffer<float> to_;
    Stopwatch watch_;
};

class KernelWork final : public DeviceWork {
public:
    explicit KernelWork(std::unique_ptr<Case> of) : case_(std::move(of)) {}
    std::int64_t wrong() override { return case_->mismatch(watch_.stream()).empty() ? 0 : 1; }
    double seconds() override {
        return watch_.seconds([&] { case_->run(watch_.stream()); });
    }

private:
    std::unique_ptr<Case> case_;
    Stopwatch watch_;
};

struct CopyEntry {
    std::string_view name;
    Way way;
    bool pinned;
};
constexpr std::array copies{
    CopyEntry{"copy", Way::within, true},
    CopyEntry{"copy host to device, pinned", Way::to_device, true},
    CopyEntry{"copy host to device, pageable", Way::to_device, false},
    CopyEntry{"copy device to host, pinned", Way::to_host, true},
    CopyEntry{"copy device to host, pageable", Way::to_host, false},
};

struct KernelEntry {
    std::string_view name;
    std::string_view of;  // of all_cases()
    std::int64_t learners = 1;
};
constexpr std::array kernels{
    KernelEntry{"monitor noise_step", "noise_step (4)", 4},
    KernelEntry{"monitor squared_norm", "squared_norm"},
    KernelEntry{"codec fp16", "fp16 there and back"},
    KernelEntry{"codec random_k", "random_k 1 %"},
    KernelEntry{"codec top_k", "top_k 1 %"},
    KernelEntry{"codec qsgd", "qsgd 64 levels"},
    KernelEntry{"codec power_sgd", "power_sgd rank 4"},
    KernelEntry{"update momentum_step", "momentum_step"},
    KernelEntry{"update averaged_learners", "averaged_learners (4)", 4},
    KernelEntry{"update central_step", "central_step"},
    KernelEntry{"update mean_of_replicas", "mean_of_replicas (4)", 4},
};

class MeasuredGpu final : public MeasuredDevice {
public:
    explicit MeasuredGpu(int device) : device_(device) {
        check(cudaSetDevice(device));
        check(cudaMemGetInfo(&free_, &memory_));
    }
    std::int64_t memory_bytes() const override { return static_cast<std::int64_t>(memory_); }
    std::vector<std::string> works() const override {
        std::vector<std::string> names;
        for (const CopyEntry& copy : copies) names.emplace_back(copy.name);
        for (const KernelEntry& kernel : kernels) names.emplace_back(kernel.name);
        return names;
    }
    std::unique_ptr<DeviceWork> work(std::string_view name, std::int64_t bytes) override {
        check(cudaSetDevice(device_));
        const auto copy = std::ranges::find(copies, name, &CopyEntry::name);
        if (copy != copies.end()) {
            return std::make_unique<Copy>(copy->way, copy->pinned, static_cast<std::size_t>(bytes));
        }
        const auto kernel = std::ranges::find(kernels, name, &KernelEntry::name);
        INVARIANT(kernel != kernels.end());
        const auto entry = std::ranges::find(all_cases(), kernel->of, &CaseEntry::name);
        INVARIANT(entry != all_cases().end());
        const std::int64_t elements =
            bytes / static_cast<std::int64_t>(sizeof(float)) / kernel->learners;
        const auto gradient = made_gradient("measured", static_cast<std::size_t>(elements));
        return std::make_unique<KernelWork>(entry->make(gradient));
    }

private:
    int device_;
    std::size_t free_ = 0;
    std::size_t memory_ = 0;
};

}  // namespace

std::unique_ptr<MeasuredDevice> measured_device(int device) {
    return std::make_unique<MeasuredGpu>(device);
}

}  // namespace ukemi::kernels::cuda
