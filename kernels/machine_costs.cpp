#include "kernels/machine_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "kernels/checkpoint_file.hpp"
#include "kernels/codec.hpp"
#include "kernels/gradient_monitors.hpp"
#include "kernels/noise_step.hpp"

namespace ukemi {

std::optional<LineFit> MachineCurve::fit() const {
    std::vector<LinePoint> line;
    for (const MachinePoint& point : points) {
        const double median = point.times.s.empty() ? 0 : point.times.median();
        if (median > 1e-12) line.push_back({static_cast<double>(point.bytes), median});
    }
    if (line.size() < 2) return std::nullopt;
    return fit_line(line);
}

void MachineCosts::add(const MachineCosts& more) {
    warm_up = more.warm_up;
    for (const MachineCurve& curve : more.curves) {
        const auto same = std::ranges::find_if(curves, [&](const MachineCurve& one) {
            return one.name == curve.name && one.ranks == curve.ranks;
        });
        if (same == curves.end()) {
            curves.push_back(curve);
            continue;
        }
        INVARIANT(same->points.size() == curve.points.size());
        for (std::size_t p = 0; p < curve.points.size(); ++p) {
            MachinePoint& point = same->points[p];
            INVARIANT(point.bytes == curve.points[p].bytes);
            point.wrong += curve.points[p].wrong;
            point.times.add(curve.points[p].times);
        }
    }
}

double bus_factor(std::string_view collective, int ranks) {
    const double others = (ranks - 1.0) / ranks;
    if (collective == "all_reduce") return 2 * others;
    for (const std::string_view even :
         {"all_gather", "reduce_scatter", "alltoall", "gather", "scatter"}) {
        if (collective == even) return others;
    }
    return 1;
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& run) {
    const auto start = Clock::now();
    run();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::int64_t> sizes_to(std::int64_t most) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = 4 << 10; size <= most; size *= 16) sizes.push_back(size);
    if (sizes.empty()) sizes.push_back(most);
    return sizes;
}

class Measuring {
public:
    explicit Measuring(const MachineOptions& options)
        : options_(options), sizes_(sizes_to(options.bytes_most)) {
        costs_.warm_up = options.warm_up;
    }

    // `prepare` gives what to time at this size, and counts what it got wrong.
    using Prepared = std::function<void()>;
    void curve(const std::string& name, std::span<const std::int64_t> sizes,
               const std::function<Prepared(std::int64_t bytes, std::int64_t& wrong)>& prepare) {
        MachineCurve curve{name, 1, {}};
        for (const std::int64_t bytes : sizes) {
            MachinePoint point{bytes, 0, {}};
            const Prepared run = prepare(bytes, point.wrong);
            for (int i = 0; i < options_.warm_up; ++i) run();
            for (int i = 0; i < options_.operations; ++i) point.times.s.push_back(seconds_of(run));
            curve.points.push_back(std::move(point));
        }
        costs_.curves.push_back(std::move(curve));
    }

    void copies();
    void monitors();
    void codecs();
    void checkpoints();

    MachineCosts take() { return std::move(costs_); }

private:
    const MachineOptions& options_;
    std::vector<std::int64_t> sizes_;
    MachineCosts costs_;
};

std::vector<float> gradient_of(std::int64_t bytes) {
    std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float));
    RandomStream random(1, "machine_costs");
    for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
    return values;
}

void Measuring::copies() {
    curve("copy", sizes_, [](std::int64_t bytes, std::int64_t& wrong) {
        auto from = std::make_shared<std::vector<float>>(gradient_of(bytes));
        auto to = std::make_shared<std::vector<float>>(from->size());
        std::memcpy(to->data(), from->data(), static_cast<std::size_t>(bytes));
        wrong = *to == *from ? 0 : static_cast<std::int64_t>(to->size());
        return [from, to] { std::memcpy(to->data(), from->data(), from->size() * sizeof(float)); };
    });
}

void Measuring::monitors() {
    curve("monitor noise_step", sizes_, [](std::int64_t bytes, std::int64_t&) {
        constexpr std::size_t learners = 2;
        auto gradients = std::make_shared<std::vector<float>>(gradient_of(bytes));
        auto weights = std::make_shared<std::vector<float>>(gradients->size() / learners);
        auto velocity = std::make_shared<std::vector<float>>(weights->size());
        return [=] {
            const MomentumRule rule{.momentum = 0.9F, .rate = 0.01F};
            noise_step(rule, *gradients, *weights, *velocity);
        };
    });
    curve("monitor variance", sizes_, [](std::int64_t bytes, std::int64_t&) {
        auto mean = std::make_shared<std::vector<float>>(gradient_of(bytes));
        return [mean, kept = std::make_shared<double>()] { *kept = variance_norm(*mean, *mean); };
    });
}

// A whole step of one rank: encode, decode, and what of it arrived; nothing is sent.
void Measuring::codecs() {
    for (const CodecEntry& entry : all_codecs()) {
        if (entry.kind == Codec::none) continue;
        // Spectral codecs take a second for what others do in a millisecond.
        const bool slow = entry.kind == Codec::atomo;
        std::vector<std::int64_t> sizes(sizes_.begin(), sizes_.begin() + (slow ? 1 : 0));
        if (!slow) {
            for (const std::int64_t size : sizes_) {
                if (size <= std::int64_t{1} << 20) sizes.push_back(size);
            }
        }
        curve(fmt::format("codec {}", entry.name), sizes, [&](std::int64_t bytes, std::int64_t& w) {
            auto gradient = std::make_shared<std::vector<float>>(gradient_of(bytes));
            const auto elements = static_cast<std::int64_t>(gradient->size());
            std::int64_t rows = 1;
            while (rows * rows < elements) rows *= 2;
            const TensorShape shape{rows, elements / rows};
            const CodecLayout layout = codec_layout(entry.name, 0, shape, 1);
            std::shared_ptr<TensorCodec> codec = make_codec(entry.name, {}, {shape, 0, 0, 1});
            auto mean = std::make_shared<std::vector<float>>(gradient->size());
            auto step = std::make_shared<std::int64_t>(0);
            auto run = [=] {
                const std::array<TensorCodec*, 1> ranks{codec.get()};
                const std::array<std::span<const float>, 1> gradients{*gradient};
                exchange_step(layout, ranks, (*step)++, gradients, *mean);
            };
            run();
            for (const float value : *mean) w += std::isfinite(value) ? 0 : 1;
            return run;
        });
    }
}

void Measuring::checkpoints() {
    if (options_.folder.empty()) return;
    const std::filesystem::path file = options_.folder / "machine.checkpoint";
    const auto saved = [](std::int64_t bytes) {
        Checkpoint checkpoint;
        checkpoint.state.assign(static_cast<std::size_t>(bytes), std::byte{7});
        return std::make_shared<Checkpoint>(std::move(checkpoint));
    };
    curve("checkpoint write", sizes_, [&](std::int64_t bytes, std::int64_t&) -> Prepared {
        return [file, checkpoint = saved(bytes)] { write_checkpoint(file, *checkpoint); };
    });
    curve("checkpoint read", sizes_, [&](std::int64_t bytes, std::int64_t& wrong) -> Prepared {
        const auto checkpoint = saved(bytes);
        write_checkpoint(file, *checkpoint);
        wrong = read_checkpoint(file) == *checkpoint ? 0 : 1;
        return [file] { read_checkpoint(file); };
    });
    std::filesystem::remove(file);
}

}  // namespace

MachineCosts measure_machine(const MachineOptions& options) {
    INVARIANT(options.operations > 0 && options.warm_up >= 0 && options.bytes_most >= 4);
    Measuring measuring(options);
    measuring.copies();
    measuring.monitors();
    measuring.codecs();
    measuring.checkpoints();
    MachineCosts costs = measuring.take();
    for (MachineCurve& curve : measure_collectives(options)) {
        costs.curves.push_back(std::move(curve));
    }
    return costs;
}

}  // namespace ukemi
