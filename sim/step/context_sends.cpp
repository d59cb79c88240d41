// context_sends.cpp — bytes of queries, keys and values.
#include "sim/step/context_sends.hpp"

#include <fmt/format.h>

namespace ukemi::sim {
namespace {

// So many heads of a rank's own tokens, of a sample.
Bytes own_tokens(const TransformerShape& shape, const LayoutRequest& request, std::int64_t heads) {
    const std::int64_t tokens = shape.sequence_length / request.context;
    return request.value_bytes * bytes(tokens * heads * shape.head());
}
// The same of a micro-batch.
Bytes sent(const TransformerShape& shape, const LayoutRequest& request, std::int64_t heads) {
    return request.batch * own_tokens(shape, request, heads);
}

ContextSends in_a_ring(const TransformerShape& shape, const LayoutRequest& request,
                       ContextPass pass) {
    const Bytes keys = sent(shape, request, key_heads(shape, request));
    const bool forward = pass == ContextPass::forward || pass == ContextPass::scores_again;
    return {{}, ContextSends::Sent{ExchangeKind::context_ring, (forward ? 2 : 4) * keys}};
}

ContextSends all_to_all(const TransformerShape& shape, const LayoutRequest& request,
                        ContextPass pass) {
    if (pass == ContextPass::scores_again) return {};
    const std::int64_t queries = shape.heads / request.degrees.tensor;
    const std::int64_t all = queries + 2 * key_heads(shape, request);
    const ContextSends::Sent there{ExchangeKind::context_all_to_all, sent(shape, request, all)};
    const ContextSends::Sent back{ExchangeKind::context_all_to_all, sent(shape, request, queries)};
    return pass == ContextPass::forward ? ContextSends{there, back} : ContextSends{back, there};
}

ContextSends gathered(const TransformerShape& shape, const LayoutRequest& request,
                      ContextPass pass) {
    const Bytes keys = 2 * sent(shape, request, key_heads(shape, request));
    ContextSends sends;
    if (pass != ContextPass::backward_after_again)
        sends.before = {ExchangeKind::context_gather, keys};
    if (pass == ContextPass::backward || pass == ContextPass::backward_after_again) {
        sends.of_scores = {ExchangeKind::context_scatter, keys};
    }
    return sends;
}

}  // namespace

ContextSends context_sends(const TransformerShape& shape, const LayoutRequest& request,
                           ContextPass pass) {
    if (request.context == 1) return {};
    switch (request.context_exchange) {
        case ContextExchange::ring: return in_a_ring(shape, request, pass);
        case ContextExchange::all_to_all: return all_to_all(shape, request, pass);
        case ContextExchange::gather: return gathered(shape, request, pass);
    }
    return {};
}

Bytes gathered_for_scores(const TransformerShape& shape, const LayoutRequest& request) {
    if (request.context == 1 || request.context_exchange != ContextExchange::gather) return {};
    return 2 * (request.context - 1) * own_tokens(shape, request, key_heads(shape, request));
}

std::int64_t key_heads(const TransformerShape& shape, const LayoutRequest& request) {
    const auto up_to = [](std::int64_t heads, std::int64_t ranks) {
        return (heads + ranks - 1) / ranks * ranks;
    };
    const std::int64_t tensor = request.degrees.tensor;
    const std::int64_t heads = up_to(shape.kv(), tensor) / tensor;
    const bool by_heads = request.context_exchange == ContextExchange::all_to_all;
    return by_heads ? up_to(heads, request.context) : heads;
}

std::string context_fault(const TransformerShape& shape, const LayoutRequest& request) {
    if (request.context == 1) return {};
    const bool by_heads = request.context_exchange == ContextExchange::all_to_all;
    if (by_heads && shape.heads % (request.degrees.tensor * request.context) != 0) {
        return fmt::format(
            "has {} heads: \"context_exchange\": \"all_to_all\" divides them, and "
            "expected a multiple of tensor {} x context {}",
            shape.heads, request.degrees.tensor, request.context);
    }
    // Two parts of a rank have as many pairs under a causal mask as those of any other.
    const std::int64_t parts = by_heads ? request.context : 2 * std::int64_t{request.context};
    if (shape.sequence_length % parts != 0) {
        return fmt::format("has samples of {} tokens: no multiple of {} for each of context {}",
                           shape.sequence_length, by_heads ? "a part" : "two parts",
                           request.context);
    }
    return {};
}

}  // namespace ukemi::sim
