// monitor_time.cpp — operations by monitor, after KungFu's optimisers (OSDI'20, ops/monitor.py and
// grad_variance.py).
#include "sim/step/monitor_time.hpp"

#include <algorithm>

#include "sim/step/codec_kernels.hpp"

namespace ukemi::sim {
namespace {

// Of d values: how many operations, and how many values they move, in d.
struct MonitorPasses {
    double a_tensor = 0;  // operations on each tensor
    double whole = 0;     // on what all tensors are together
    double values = 0;
};

// A gradient's tensors are joined (2 d), squared (2 d), summed (d); rooted. Both gradients are:
// the worker's own and the mean. Then ten operations on their two numbers, and one waits for the
// host that smooths them.
constexpr MonitorPasses noise_scale_passes{2, 2 * 4 + 11, 2 * 5};
// Of each tensor: squared (2 d); its mean and that of the squares (2 d); the mean squared (2 d),
// subtracted (3 d), squared (2 d), summed (d), rooted; added up.
constexpr MonitorPasses variance_passes{8, 1, 12};

}  // namespace

Duration monitor_time(GradientMonitor monitor, const GpuProfile& gpu, const ModelProfile& model,
                      std::string_view where, std::optional<Duration> operation) {
    if (monitor == GradientMonitor::none) return {};
    const MonitorPasses& passes =
        monitor == GradientMonitor::noise_scale ? noise_scale_passes : variance_passes;
    const KernelClock clock(gpu, Precision::fp32, known_kernel_rates(gpu, where), where);
    const auto tensors = static_cast<double>(model.tensors.size());
    const double operations = passes.a_tensor * tensors + passes.whole;
    const double bytes = 4 * passes.values * static_cast<double>(model.parameters());
    const KernelSum one = clock.traffic(bytes / operations);
    const double device_s = one.device_s * operations;
    if (operation) {
        return std::max(static_cast<std::int64_t>(operations) * *operation, seconds(device_s));
    }
    return CodecClock::time({device_s, static_cast<std::int64_t>(operations)});
}

}  // namespace ukemi::sim
