#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "kernels/codec.hpp"
#include "kernels/gradient_monitors.hpp"
#include "kernels/measured_device.hpp"
#include "kernels/noise_step.hpp"

namespace ukemi::kernels {

namespace {

using Work = std::unique_ptr<DeviceWork>;
using Values = std::shared_ptr<std::vector<float>>;

Values gradient_of(std::int64_t bytes) {
    auto values =
        std::make_shared<std::vector<float>>(static_cast<std::size_t>(bytes) / sizeof(float));
    RandomStream random(1, "machine_costs");
    for (float& value : *values) value = static_cast<float>(random.uniform() - 0.5);
    return values;
}
Values zeros(std::size_t count) { return std::make_shared<std::vector<float>>(count); }

Work copy_of(std::int64_t bytes) {
    const Values from = gradient_of(bytes);
    const Values to = zeros(from->size());
    return std::make_unique<HostWork>(
        [=] { std::memcpy(to->data(), from->data(), from->size() * sizeof(float)); },
        [=] { return *to == *from ? 0 : static_cast<std::int64_t>(to->size()); });
}

Work noise_step_of(std::int64_t bytes) {
    constexpr std::size_t learners = 4;  // as on a GPU, where this has the same name
    const auto all = static_cast<std::int64_t>(learners * sizeof(float));
    const Values gradients = gradient_of(bytes - bytes % all);
    const Values weights = zeros(gradients->size() / learners);
    const Values velocity = zeros(weights->size());
    return std::make_unique<HostWork>(
        [=] {
            const MomentumRule rule{.momentum = 0.9F, .rate = 0.01F};
            noise_step(rule, *gradients, *weights, *velocity);
        },
        nullptr);
}

Work variance_of(std::int64_t bytes) {
    const Values mean = gradient_of(bytes);
    return std::make_unique<HostWork>(
        [mean, kept = std::make_shared<double>()] { *kept = variance_norm(*mean, *mean); },
        nullptr);
}

// A whole step of one rank: encode, decode, and what of it arrived; nothing is sent.
Work codec_of(const CodecEntry& entry, std::int64_t bytes) {
    // Spectral codecs take a second for what others do in a millisecond.
    constexpr std::int64_t most = 1 << 20;
    constexpr std::int64_t most_of_spectral = 4 << 10;
    if (bytes > (entry.kind == policies::Codec::atomo ? most_of_spectral : most)) return nullptr;
    const Values gradient = gradient_of(bytes);
    const auto elements = static_cast<std::int64_t>(gradient->size());
    std::int64_t rows = 1;
    while (rows * rows < elements) rows *= 2;
    const TensorShape shape{rows, elements / rows};
    const CodecLayout layout = codec_layout(entry.name, 0, shape, 1);
    const std::shared_ptr<TensorCodec> codec = make_codec(entry.name, {}, {shape, 0, 0, 1});
    const Values mean = zeros(gradient->size());
    return std::make_unique<HostWork>(
        [=, step = std::make_shared<std::int64_t>(0)] {
            const std::array<TensorCodec*, 1> ranks{codec.get()};
            const std::array<std::span<const float>, 1> gradients{*gradient};
            exchange_step(layout, ranks, (*step)++, gradients, *mean);
        },
        [=] {
            return static_cast<std::int64_t>(
                std::ranges::count_if(*mean, [](float value) { return !std::isfinite(value); }));
        });
}

class MeasuredHost final : public MeasuredDevice {
public:
    std::int64_t memory_bytes() const override {
        const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
        return std::max<std::int64_t>(pages, 0) * sysconf(_SC_PAGE_SIZE);
    }
    std::vector<std::string> works() const override {
        std::vector<std::string> names{"copy", "monitor noise_step", "monitor variance"};
        for (const CodecEntry& entry : all_codecs()) {
            if (entry.kind != policies::Codec::none)
                names.push_back(fmt::format("codec {}", entry.name));
        }
        return names;
    }
    Work work(std::string_view name, std::int64_t bytes) override {
        if (name == "copy") return copy_of(bytes);
        if (name == "monitor noise_step") return noise_step_of(bytes);
        if (name == "monitor variance") return variance_of(bytes);
        const auto codec = std::ranges::find_if(all_codecs(), [&](const CodecEntry& entry) {
            return name == fmt::format("codec {}", entry.name);
        });
        INVARIANT(codec != all_codecs().end());
        return codec_of(*codec, bytes);
    }
};

}  // namespace

std::unique_ptr<MeasuredDevice> measured_host() { return std::make_unique<MeasuredHost>(); }

}  // namespace ukemi::kernels
