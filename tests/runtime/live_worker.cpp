// live_worker.cpp — a worker process and nothing else. `live_worker posing FILE` computes on
// another backend: the CPU behind a device that writes a letter into FILE for everything that it is
// asked; `live_worker refusing` on one that is not there. `live_worker dying N` kills itself at its
// Nth gradient, and `live_worker hanging N` never comes back from it.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>

#include "kernels/compute_backend.hpp"
#include "runtime/crew.hpp"

namespace ukemi {

namespace {

// Appended at once: a worker that is killed has been heard.
class Tally {
public:
    explicit Tally(const std::string& file) : file_(file, std::ios::app) {}
    void add(char letter) const {
        const std::lock_guard lock(mutex_);  // learners are threads
        (file_ << letter).flush();
    }

private:
    mutable std::mutex mutex_;
    mutable std::ofstream file_;
};

class PosingModel final : public kernels::Model {
public:
    PosingModel(std::unique_ptr<kernels::Model> model, const Tally& tally,
                const std::function<void()>& at_gradient)
        : model_(std::move(model)), tally_(tally), at_gradient_(at_gradient) {}
    std::string_view kind() const override { return model_->kind(); }
    std::span<const kernels::TensorSlice> tensors() const override { return model_->tensors(); }
    std::size_t parameter_count() const override { return model_->parameter_count(); }
    std::vector<float> initial_weights(std::uint64_t seed) const override {
        return model_->initial_weights(seed);
    }
    std::unique_ptr<Workspace> make_workspace() const override { return model_->make_workspace(); }
    // All tensors are there at once, as from a device.
    kernels::BatchResult gradient(std::span<const float> weights, const kernels::DataSet& data,
                                  std::span<const std::uint32_t> samples, std::span<float> gradient,
                                  Workspace& workspace, const Finished& finished) const override {
        tally_.add('g');
        if (at_gradient_) at_gradient_();
        const kernels::BatchResult result =
            model_->gradient(weights, data, samples, gradient, workspace, {});
        if (finished) {
            for (std::size_t tensor = tensors().size(); tensor-- > 0;) finished(tensor);
        }
        return result;
    }
    void gradients(std::span<ReplicaBatch> replicas) const override { model_->gradients(replicas); }
    kernels::BatchResult evaluate(std::span<const float> weights, const kernels::DataSet& data,
                                  std::span<const std::uint32_t> samples,
                                  Workspace& workspace) const override {
        return model_->evaluate(weights, data, samples, workspace);
    }

private:
    std::unique_ptr<kernels::Model> model_;
    const Tally& tally_;
    const std::function<void()>& at_gradient_;
};

class PosingBackend final : public kernels::ComputeBackend {
public:
    explicit PosingBackend(const std::string& file, std::function<void()> at_gradient = {})
        : tally_(file), at_gradient_(std::move(at_gradient)) {}
    std::string_view name() const override { return "posing"; }
    std::string refusal() const override { return {}; }
    std::string device() const override { return "a pose"; }
    std::unique_ptr<kernels::Model> model(const kernels::ModelSpec& spec,
                                          const kernels::DataSet& data,
                                          std::uint32_t) const override {
        tally_.add('m');
        return std::make_unique<PosingModel>(kernels::make_model(spec, data), tally_, at_gradient_);
    }
    kernels::LearnerGroup::MakeDevice learners(const kernels::ModelSpec&,
                                               const kernels::Model& model,
                                               const kernels::DataSet& data,
                                               std::uint32_t) const override {
        return [this, make = kernels::cpu_learners(model, data)](std::span<const float> weights) {
            tally_.add('d');
            return make(weights);
        };
    }

private:
    Tally tally_;
    std::function<void()> at_gradient_;
};

class RefusingBackend final : public kernels::ComputeBackend {
public:
    std::string_view name() const override { return "refusing"; }
    std::string refusal() const override { return "no such device answers"; }
    std::string device() const override { return {}; }
    std::unique_ptr<kernels::Model> model(const kernels::ModelSpec&, const kernels::DataSet&,
                                          std::uint32_t) const override {
        return nullptr;
    }
    kernels::LearnerGroup::MakeDevice learners(const kernels::ModelSpec&, const kernels::Model&,
                                               const kernels::DataSet&,
                                               std::uint32_t) const override {
        return {};
    }
};

// What happens at the Nth gradient of this process.
std::function<void()> at_gradient(int number, void (*what)()) {
    return [number, what, count = std::make_shared<std::atomic<int>>(0)] {
        if (++*count == number) what();
    };
}
void die() { ::raise(SIGKILL); }
void hang() {
    for (;;) ::pause();
}

}  // namespace

}  // namespace ukemi

int main(int argc, char** argv) {
    const std::string kind = argc > 1 ? argv[1] : "";
    if (kind == "posing") return ukemi::runtime::run_worker(ukemi::PosingBackend(argv[2]));
    if (kind == "dying" || kind == "hanging") {
        const auto harm =
            ukemi::at_gradient(std::atoi(argv[2]), kind == "dying" ? ukemi::die : ukemi::hang);
        return ukemi::runtime::run_worker(ukemi::PosingBackend("/dev/null", harm));
    }
    if (kind == "refusing") return ukemi::runtime::run_worker(ukemi::RefusingBackend());
    return ukemi::runtime::run_worker(ukemi::kernels::cpu_backend());
}
