// compute_backend.hpp — where a worker computes: what makes its gradients and its learners' device.
//
// All else of a worker (replica, exchange, undoing, digests, checkpoints) is on the host whatever
// this is, so a job may go on from a checkpoint that another backend's workers wrote. Backends are
// handed in by the program that links them; here is the one that is always there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/learners/learner_group.hpp"
#include "kernels/measured_device.hpp"
#include "kernels/model.hpp"
#include "kernels/nccl/device_exchange.hpp"

namespace ukemi::kernels {

class ComputeBackend {
public:
    virtual ~ComputeBackend() = default;
    virtual std::string_view name() const = 0;  // "cpu"
    // Why it cannot compute here, in one line; empty: it can.
    virtual std::string refusal() const = 0;
    // What its times depend on beside the machine's processor; empty: nothing. Only where `refusal`
    // is empty.
    virtual std::string device() const = 0;

    // make_model, with gradients computed here: equal tensors and initial weights, and its errors.
    // `slot` is the worker's place on its machine, for backends with several devices.
    virtual std::unique_ptr<Model> model(const ModelSpec& spec, const DataSet& data,
                                         std::uint32_t slot) const = 0;
    // Of such a model, which outlives what is made, and so does `data`. Exchanges get host memory.
    virtual LearnerGroup::MakeDevice learners(const ModelSpec& spec, const Model& model,
                                              const DataSet& data, std::uint32_t slot) const = 0;
    // What that worker may exchange with beside its sockets.
    virtual DeviceLink device_link([[maybe_unused]] std::uint32_t slot) const { return {}; }
    // The device of the first worker, to be measured; null: the host.
    virtual std::unique_ptr<MeasuredDevice> measured_device() const { return nullptr; }
};

// Threads of the worker's own process.
const ComputeBackend& cpu_backend();

}  // namespace ukemi::kernels
