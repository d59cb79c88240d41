// measured_device.hpp — what work costs on a device that computes: copies, codecs, monitors,
// updates. A device says which works it has and times each of them by its own clock.
//
// Sizes are of the gradient (or memory) that a work reads, of all learners together where it has
// several.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ukemi::kernels {

class DeviceWork {
public:
    virtual ~DeviceWork() = default;
    // Does it once: how much of what came out is not what it should be, 0 if all is right.
    virtual std::int64_t wrong() = 0;
    virtual double seconds() = 0;  // of doing it once
};

// On this thread, by the host's clock.
class HostWork final : public DeviceWork {
public:
    // `wrong` looks at what `run` has left; null: nobody looks.
    HostWork(std::function<void()> run, std::function<std::int64_t()> wrong)
        : run_(std::move(run)), wrong_(std::move(wrong)) {}
    std::int64_t wrong() override {
        run_();
        return wrong_ ? wrong_() : 0;
    }
    double seconds() override {
        const auto start = std::chrono::steady_clock::now();
        run_();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

private:
    std::function<void()> run_;
    std::function<std::int64_t()> wrong_;
};

class MeasuredDevice {
public:
    virtual ~MeasuredDevice() = default;
    virtual std::int64_t memory_bytes() const = 0;       // the whole device's; 0: nobody knows
    virtual std::vector<std::string> works() const = 0;  // "copy", "codec top_k", …
    // Of a name in works(). Null: that takes too long at this size.
    virtual std::unique_ptr<DeviceWork> work(std::string_view name, std::int64_t bytes) = 0;
};

// This machine's processor and its memory.
std::unique_ptr<MeasuredDevice> measured_host();

}  // namespace ukemi::kernels
