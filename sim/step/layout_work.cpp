// layout_work.cpp — who holds what of a layout, and who adds up whose gradients.
#include "sim/step/layout_work.hpp"

#include <set>

namespace ukemi::sim {

std::string words_of(ExchangeKind kind) {
    switch (kind) {
        case ExchangeKind::context_ring: return "wait for keys and values";
        case ExchangeKind::context_gather: return "gather of keys and values";
        case ExchangeKind::context_scatter: return "reduce-scatter of gradients of keys and values";
        case ExchangeKind::context_all_to_all: return "all-to-all of heads";
        case ExchangeKind::tensor_gather:
        case ExchangeKind::tensor_scatter: return "wait for pieces";
        default: return "all-reduce";
    }
}

std::vector<ExchangeKind> LayoutWork::context_kinds() const {
    std::set<ExchangeKind> sent;
    if (context == 1) return {};
    for (const StageWork& stage : stages) {
        for (const std::vector<ModelBlock>* blocks : {&stage.forward, &stage.backward}) {
            for (const ModelBlock& block : *blocks) {
                if (block.exchange && is_of_context(*block.exchange)) sent.insert(*block.exchange);
            }
        }
    }
    return {sent.begin(), sent.end()};
}

std::vector<DeviceId> LayoutWork::holders_of(std::span<const DeviceId> workers, std::int32_t tensor,
                                             std::int32_t stage_rank) const {
    std::vector<DeviceId> all;
    for (std::int32_t d = 0; d < degrees.data; ++d) {
        for (std::int32_t c = 0; c < context; ++c) {
            const std::int32_t number = rank(tensor + degrees.tensor * c, d, stage_rank);
            all.push_back(workers[static_cast<std::size_t>(number)]);
        }
    }
    return all;
}

std::vector<DeviceId> LayoutWork::expert_holders_of(std::span<const DeviceId> workers,
                                                    std::int32_t tensor,
                                                    std::int32_t stage_rank) const {
    if (!whole_experts) return holders_of(workers, tensor, stage_rank);
    const auto all = workers.subspan(static_cast<std::size_t>(rank(0, 0, stage_rank)),
                                     static_cast<std::size_t>(expert_holders()));
    return {all.begin(), all.end()};
}

std::vector<std::vector<DeviceId>> LayoutWork::expert_groups(std::span<const DeviceId> workers,
                                                             std::int32_t tensor,
                                                             std::int32_t stage_rank) const {
    const std::vector<DeviceId> all = expert_holders_of(workers, tensor, stage_rank);
    std::vector<std::vector<DeviceId>> groups(static_cast<std::size_t>(expert_holders() / expert));
    for (std::size_t i = 0; i < all.size(); ++i) {
        groups[i / static_cast<std::size_t>(expert)].push_back(all[i]);
    }
    return groups;
}

std::vector<DeviceId> LayoutWork::adders_of(std::span<const DeviceId> workers, std::int32_t tensor,
                                            std::int32_t stage_rank) const {
    std::vector<DeviceId> all = holders_of(workers, tensor, stage_rank);
    const PipelineSpec spec = pipeline(1);
    if (spec.copies() == 1) return all;
    const std::vector<DeviceId> again =
        holders_of(workers, tensor, spec.worker_of(stage_rank + spec.workers));
    all.insert(all.end(), again.begin(), again.end());
    return all;
}

std::vector<std::vector<DeviceId>> LayoutWork::experts_adders(std::span<const DeviceId> workers,
                                                              std::int32_t tensor,
                                                              std::int32_t stage_rank) const {
    std::vector<DeviceId> all = expert_holders_of(workers, tensor, stage_rank);
    if (const PipelineSpec spec = pipeline(1); spec.copies() > 1) {
        const std::vector<DeviceId> again =
            expert_holders_of(workers, tensor, spec.worker_of(stage_rank + spec.workers));
        all.insert(all.end(), again.begin(), again.end());
    }
    std::vector<std::vector<DeviceId>> groups(static_cast<std::size_t>(expert));
    for (std::size_t i = 0; i < all.size(); ++i) groups[i % groups.size()].push_back(all[i]);
    return groups;
}

}  // namespace ukemi::sim
