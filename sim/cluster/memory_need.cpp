// memory_need.cpp — sums of bytes, and the refusal.
#include "sim/cluster/memory_need.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/cost_curve.hpp"

namespace ukemi::sim {
namespace {

Bytes kept_by_sample(const ModelProfile& model, const MemoryRule& rule) {
    return rule.learners * (rule.kept(model.values_kept, model.inputs_kept, model.twice_kept) +
                            bytes(model.bytes_kept) + rule.bytes_a_logit * bytes(model.logits));
}

}  // namespace

MemoryRule MemoryRule::of(Precision precision, OptimiserKind optimiser, LossKind loss) {
    MemoryRule rule;
    rule.bytes_a_value = value_bytes(precision);
    rule.bytes_a_state = rule.bytes_a_value == 4 ? 0 : 4;
    if (optimiser == OptimiserKind::momentum) rule.bytes_a_state += 4;
    if (optimiser == OptimiserKind::adam) rule.bytes_a_state += 8;
    rule.eight_bits = precision == Precision::fp8;
    rule.bytes_a_logit_kept = loss == LossKind::fused ? rule.bytes_a_value : 4;
    if (loss == LossKind::megatron) rule.bytes_a_logit = rule.bytes_a_value == 4 ? 4 : 6;
    if (loss == LossKind::pytorch) rule.bytes_a_logit = 12;
    if (loss == LossKind::fused) rule.bytes_a_logit = 2 * rule.bytes_a_value;
    return rule;
}

Bytes MemoryRule::kept(std::int64_t values, std::int64_t inputs, std::int64_t twice) const {
    const Bytes all = bytes_a_value * bytes(values);
    return eight_bits ? all - (bytes_a_value - 1) * bytes(inputs) + bytes(twice) : all;
}

MemoryNeed memory_need(const ModelProfile& model, std::int64_t batch, const MemoryRule& rule) {
    INVARIANT(batch >= 0);
    const std::int64_t parameters = rule.learners * model.parameters();
    const Bytes values = rule.bytes_a_value * bytes(parameters);
    const Bytes exchange = rule.values_exchanged * rule.bytes_a_value * bytes(model.parameters());
    return {values,
            values,
            rule.bytes_a_state * bytes(parameters),
            exchange,
            bytes_counted(Int128{batch} * kept_by_sample(model, rule).raw()),
            rule.reserve};
}

Bytes bytes_counted(Int128 sum) {
    return bytes(static_cast<std::int64_t>(std::min<Int128>(sum, bytes_most.raw())));
}

void expect_countable(const MemoryNeed& need, const ModelProfile& model, std::int64_t batch,
                      std::string_view where) {
    if (need.kept < bytes_most) return;
    throw InputError(where, "",
                     fmt::format("{} with a batch of {} keeps more than 1e18 bytes for the "
                                 "backward pass",
                                 model.name, batch));
}

std::int64_t batch_max(const ModelProfile& model, const GpuProfile& gpu, const MemoryRule& rule) {
    const Bytes free = gpu.memory - memory_need(model, 0, rule).total();
    if (free <= Bytes{}) return 0;
    return free.raw() / std::max<std::int64_t>(kept_by_sample(model, rule).raw(), 1);
}

void check_memory(const ModelProfile& model, const GpuProfile& gpu, std::int64_t batch,
                  const MemoryRule& rule, std::string_view where) {
    const std::int64_t most = batch_max(model, gpu, rule);
    if (batch <= most) return;
    const MemoryNeed need = memory_need(model, batch, rule);
    expect_countable(need, model, batch, where);
    const std::string largest = most > 0 ? fmt::format("the largest batch that fits is {}", most)
                                         : std::string("not even a batch of 1 fits");
    const std::string who =
        rule.learners > 1 ? fmt::format(" of each of {} learners", rule.learners) : "";
    const std::string exchange = need.exchange > Bytes{}
                                     ? fmt::format(", kept of the exchange {}", need.exchange.raw())
                                     : "";
    throw InputError(
        where, "",
        fmt::format("{} with a batch of {}{} needs {} bytes (parameters, gradients and optimiser "
                    "{}{}, kept for the backward pass {}, reserve {}), {} has {}: {}",
                    model.name, batch, who, need.total().raw(), need.parameters().raw(), exchange,
                    need.kept.raw(), need.reserve.raw(), gpu.name, gpu.memory.raw(), largest));
}

}  // namespace ukemi::sim
