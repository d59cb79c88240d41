// capped_batch.cpp — each worker's batch until the global one is as large as it may be.
//
// The batch rule of Or et al. (MLSys'20; batch_split.hpp): the batch follows the workers up to a
// limit, from where on they share it.
#include <memory>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"
#include "policies/batch_split.hpp"
#include "policies/size/size_policy.hpp"

namespace ukemi::policies {

namespace {

class CappedBatch final : public SizePolicy {
public:
    CappedBatch(std::int64_t worker_batch, std::int64_t batch_max)
        : worker_batch_(worker_batch), batch_max_(batch_max) {}
    std::string_view name() const override { return "capped_batch"; }
    KnobSet knobs() const override { return {Knob::batch}; }

private:
    Decision for_workers(const PolicyView& view, std::int32_t workers) const override {
        const std::int64_t batch = capped_batch(worker_batch_, batch_max_, workers);
        if (batch == view.plan.global_batch) return {};
        Decision decision;
        decision.global_batch = batch;
        decision.reason = batch < batch_max_ ? "as much as fits each worker" : "as much as allowed";
        return decision;
    }

    std::int64_t worker_batch_;
    std::int64_t batch_max_;
};

}  // namespace

std::unique_ptr<Policy> make_capped_batch(ConfigReader& parameters) {
    const std::int64_t worker_batch = parameters.integer("worker_batch", 1, 1'000'000, 128);
    const std::int64_t batch_max = parameters.integer("batch_max", 1, batch_most, 8192);
    return std::make_unique<CappedBatch>(worker_batch, batch_max);
}

}  // namespace ukemi::policies
