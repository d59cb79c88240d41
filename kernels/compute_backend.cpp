#include "kernels/compute_backend.hpp"

namespace ukemi::kernels {

namespace {

class CpuBackend final : public ComputeBackend {
public:
    std::string_view name() const override { return "cpu"; }
    std::string refusal() const override { return {}; }
    std::string device() const override { return {}; }
    std::unique_ptr<Model> model(const ModelSpec& spec, const DataSet& data,
                                 std::uint32_t) const override {
        return make_model(spec, data);
    }
    LearnerGroup::MakeDevice learners(const ModelSpec&, const Model& model, const DataSet& data,
                                      std::uint32_t) const override {
        return cpu_learners(model, data);
    }
};

}  // namespace

const ComputeBackend& cpu_backend() {
    static const CpuBackend backend;
    return backend;
}

}  // namespace ukemi::kernels
