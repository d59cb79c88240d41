#include "cli/backends.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "base/invariant.hpp"
#include "runtime/calibration.hpp"
#if defined(UKEMI_WITH_CUDA)
#include "kernels/cuda/cuda_backend.hpp"
#endif

namespace ukemi::cli {

namespace {

// Compiled everywhere, so that a build with CUDA shows what breaks it.
class MissingCuda final : public kernels::ComputeBackend {
public:
    std::string_view name() const override { return "cuda"; }
    std::string refusal() const override {
        return "this program was built without CUDA; it has cpu";
    }
    std::string device() const override { return {}; }
    std::unique_ptr<kernels::Model> model(const kernels::ModelSpec&, const kernels::DataSet&,
                                          std::uint32_t) const override {
        throw std::runtime_error(refusal());
    }
    kernels::LearnerGroup::MakeDevice learners(const kernels::ModelSpec&, const kernels::Model&,
                                               const kernels::DataSet&,
                                               std::uint32_t) const override {
        throw std::runtime_error(refusal());
    }
};

}  // namespace

std::vector<std::string> backend_names() { return {"cpu", "cuda"}; }

const kernels::ComputeBackend& backend_named(std::string_view name) {
    INVARIANT(name == "cpu" || name == "cuda");
    if (name == "cpu") return kernels::cpu_backend();
#if defined(UKEMI_WITH_CUDA)
    return kernels::cuda::cuda_backend();
#else
    static const MissingCuda missing;
    return missing;
#endif
}

void expect_backend(const kernels::ComputeBackend& backend) {
    const std::string refusal = backend.refusal();
    if (refusal.empty()) return;
    throw std::runtime_error(fmt::format("--backend {}: {}", backend.name(), refusal));
}

std::string device_with(const kernels::ComputeBackend& backend) {
    const std::string device = backend.device();
    return device.empty()
               ? scenarios::this_device()
               : fmt::format("{}; {}: {}", scenarios::this_device(), backend.name(), device);
}

}  // namespace ukemi::cli
