#include "kernels/cuda/cuda_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/device_model.hpp"
#include "kernels/cuda/handles.hpp"
#include "kernels/cuda/measured_device.hpp"
#if defined(UKEMI_WITH_NCCL)
#include "kernels/nccl/library/nccl_library.hpp"
#endif

namespace ukemi::kernels::cuda {

namespace {

// CUDA counts 1000 for a major version and 10 for a minor one.
std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string runtime_version() {
    int version = 0;
    check(cudaRuntimeGetVersion(&version));
    return version_text(version);
}

int device_count() {
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    return devices;
}

int device_of(std::uint32_t worker) {
    return static_cast<int>(worker % static_cast<std::uint32_t>(std::max(device_count(), 1)));
}

cudaDeviceProp properties_of(int device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device));
    return properties;
}

// The driver's own number, and the newest CUDA that it serves.
std::string driver_version() {
    std::string own = "unknown";
    std::ifstream file("/sys/module/nvidia/version");
    if (file) std::getline(file, own);
    int serves = 0;
    check(cudaDriverGetVersion(&serves));
    return fmt::format("{} (CUDA {})", own, version_text(serves));
}

// The first GPU that is too old for the code that was built, in one line; empty: none is.
std::string device_too_old() {
    constexpr int least = UKEMI_CUDA_CODE;  // 90: compute capability 9.0
    for (int device = 0; device < device_count(); ++device) {
        const cudaDeviceProp properties = properties_of(device);
        if (10 * properties.major + properties.minor >= least) continue;
        return fmt::format("{} has compute capability {}.{}", properties.name, properties.major,
                           properties.minor);
    }
    return {};
}

class CudaBackend final : public ComputeBackend {
public:
    std::string_view name() const override { return "cuda"; }
    std::string refusal() const override {
        const std::string missing = gpu_missing();
        const std::string why =
            missing.empty() ? gpu_unusable() : fmt::format("no GPU answers ({})", missing);
        if (why.empty()) return {};
        return fmt::format("{}; this build has CUDA {} with code for compute capability {}.{} on",
                           why, runtime_version(), UKEMI_CUDA_CODE / 10, UKEMI_CUDA_CODE % 10);
    }
    std::string device() const override {
        std::string names;
        for (int device = 0; device < device_count(); ++device) {
            names += fmt::format("{}{}", device == 0 ? "" : " + ", properties_of(device).name);
        }
        return fmt::format("{}, driver {}, CUDA runtime {}", names, driver_version(),
                           runtime_version());
    }
    std::unique_ptr<Model> model(const ModelSpec& spec, const DataSet& data,
                                 std::uint32_t worker) const override {
        DeviceModelSettings settings;
        settings.device = device_of(worker);
        return make_device_model(spec, data, settings);
    }
    LearnerGroup::MakeDevice learners(const ModelSpec& spec, const Model&, const DataSet& data,
                                      std::uint32_t worker) const override {
        CudaDeviceSettings settings;
        settings.device = device_of(worker);
        settings.samples_most = 1;  // until a batch comes
        settings.exchange_on_host = true;
        // Kept beside the device: it refers to its network.
        auto network =
            std::make_shared<ImageNetwork>(network_of(spec, data.features, data.classes));
        return [network, settings](std::span<const float> weights) {
            return make_cuda_device(*network, weights, settings);
        };
    }
    DeviceLink device_link(std::uint32_t worker) const override {
        DeviceLink link;
        const int device = device_of(worker);
        for (const char byte : properties_of(device).uuid.bytes) {
            link.device += fmt::format("{:02x}", static_cast<unsigned char>(byte));
        }
#if defined(UKEMI_WITH_NCCL)
        link.why = nccl_missing();
        if (link.why.empty()) link.calls = make_nccl(device);
#else
        link.why = "this program was built without NCCL";
#endif
        return link;
    }
    std::unique_ptr<MeasuredDevice> measured_device() const override {
        return cuda::measured_device(device_of(0));
    }
};

}  // namespace

std::string gpu_unusable() {
    const std::string missing = gpu_missing();
    return missing.empty() ? device_too_old() : missing;
}

const ComputeBackend& cuda_backend() {
    static const CudaBackend backend;
    return backend;
}

}  // namespace ukemi::kernels::cuda
