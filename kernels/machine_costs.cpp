#include "kernels/machine_costs.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "base/invariant.hpp"
#include "kernels/checkpoint_file.hpp"

namespace ukemi::kernels {

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
    device_memory_bytes = more.device_memory_bytes;
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

std::vector<std::int64_t> sizes_to(std::int64_t most) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = 4 << 10; size <= most; size *= 16) sizes.push_back(size);
    if (sizes.empty()) sizes.push_back(most);
    return sizes;
}

class Measuring {
public:
    explicit Measuring(const MachineOptions& options) : options_(options) {
        costs_.warm_up = options.warm_up;
    }

    // Everything that the device does, at all sizes that do not take it too long.
    void device(MeasuredDevice& device, std::int64_t bytes_most) {
        costs_.device_memory_bytes = device.memory_bytes();
        for (const std::string& name : device.works()) {
            works(name, bytes_most, [&](std::int64_t bytes) { return device.work(name, bytes); });
        }
    }
    void host_copy(MeasuredDevice& host) {
        works("host copy", options_.bytes_most,
              [&](std::int64_t bytes) { return host.work("copy", bytes); });
    }
    void checkpoints();

    MachineCosts take() { return std::move(costs_); }

private:
    using Make = std::function<std::unique_ptr<DeviceWork>(std::int64_t bytes)>;
    void works(const std::string& name, std::int64_t bytes_most, const Make& make) {
        MachineCurve curve{name, 1, {}};
        for (const std::int64_t bytes : sizes_to(bytes_most)) {
            const std::unique_ptr<DeviceWork> work = make(bytes);
            if (!work) continue;
            MachinePoint point{bytes, work->wrong(), {}};
            for (int i = 0; i < options_.warm_up; ++i) work->seconds();
            for (int i = 0; i < options_.operations; ++i) point.times.s.push_back(work->seconds());
            curve.points.push_back(std::move(point));
        }
        if (!curve.points.empty()) costs_.curves.push_back(std::move(curve));
    }
    const MachineOptions& options_;
    MachineCosts costs_;
};

void Measuring::checkpoints() {
    if (options_.folder.empty()) return;
    const std::filesystem::path file = options_.folder / "machine.checkpoint";
    const auto saved = [](std::int64_t bytes) {
        Checkpoint checkpoint;
        checkpoint.state.assign(static_cast<std::size_t>(bytes), std::byte{7});
        return std::make_shared<Checkpoint>(std::move(checkpoint));
    };
    works("checkpoint write", options_.bytes_most, [&](std::int64_t bytes) {
        return std::make_unique<HostWork>(
            [file, checkpoint = saved(bytes)] { write_checkpoint(file, *checkpoint); }, nullptr);
    });
    works("checkpoint read", options_.bytes_most, [&](std::int64_t bytes) {
        const auto checkpoint = saved(bytes);
        write_checkpoint(file, *checkpoint);
        return std::make_unique<HostWork>(
            [file] { read_checkpoint(file); },
            [=] { return read_checkpoint(file) == *checkpoint ? 0 : 1; });
    });
    std::filesystem::remove(file);
}

}  // namespace

MachineCosts measure_machine(const MachineOptions& options) {
    INVARIANT(options.operations > 0 && options.warm_up >= 0 && options.bytes_most >= 4);
    Measuring measuring(options);
    const std::unique_ptr<MeasuredDevice> host = measured_host();
    if (options.device != nullptr) {
        measuring.device(*options.device, options.device_bytes_most);
        measuring.host_copy(*host);
    } else {
        measuring.device(*host, options.bytes_most);
    }
    measuring.checkpoints();
    MachineCosts costs = measuring.take();
    for (MachineCurve& curve : measure_collectives(options)) {
        costs.curves.push_back(std::move(curve));
    }
    return costs;
}

}  // namespace ukemi::kernels
