// context_sends.cpp — bytes of queries, keys and values.
#include "sim/step/context_sends.hpp"

#include <fmt/format.h>

#include <array>

namespace ukemi::sim {
namespace {

std::int64_t part(std::int64_t all, std::int64_t parts) { return (all + parts - 1) / parts; }

// Of one rank of a tensor group.
struct Heads {
    std::int64_t queries = 0;
    std::int64_t keys = 0;  // and as many of values
};
Heads heads_of(const TransformerShape& shape, const LayoutRequest& request) {
    return {shape.heads / request.degrees.tensor, part(shape.kv(), request.degrees.tensor)};
}

// So many heads of a rank's own tokens, in a micro-batch.
Bytes own_tokens(const TransformerShape& shape, const LayoutRequest& request, std::int64_t heads) {
    const std::int64_t tokens = request.batch * shape.sequence_length / request.context;
    return request.value_bytes * bytes(tokens * heads * shape.head());
}

ContextSends in_a_ring(const TransformerShape& shape, const LayoutRequest& request,
                       ContextPass pass) {
    const Bytes keys = own_tokens(shape, request, heads_of(shape, request).keys);
    const bool forward = pass == ContextPass::forward || pass == ContextPass::scores_again;
    return {{}, ContextSends::Sent{ExchangeKind::context_ring, (forward ? 2 : 4) * keys}};
}

// Where there are fewer heads of keys than ranks, some get the same.
ContextSends all_to_all(const TransformerShape& shape, const LayoutRequest& request,
                        ContextPass pass) {
    if (pass == ContextPass::scores_again) return {};
    const Heads heads = heads_of(shape, request);
    const std::int64_t keys = part(heads.keys, request.context) * request.context;
    const ContextSends::Sent there{ExchangeKind::context_all_to_all,
                                   own_tokens(shape, request, heads.queries + 2 * keys)};
    const ContextSends::Sent back{ExchangeKind::context_all_to_all,
                                  own_tokens(shape, request, heads.queries)};
    return pass == ContextPass::forward ? ContextSends{there, back} : ContextSends{back, there};
}

ContextSends gathered(const TransformerShape& shape, const LayoutRequest& request,
                      ContextPass pass) {
    const Bytes keys = 2 * own_tokens(shape, request, heads_of(shape, request).keys);
    ContextSends sends;
    if (pass != ContextPass::backward_again) sends.before = {ExchangeKind::context_gather, keys};
    if (pass == ContextPass::backward || pass == ContextPass::backward_again) {
        sends.with = {ExchangeKind::context_scatter, keys};
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

std::vector<ExchangeKind> context_kinds(const LayoutRequest& request) {
    if (request.context == 1) return {};
    switch (request.context_exchange) {
        case ContextExchange::ring: return {ExchangeKind::context_ring};
        case ContextExchange::all_to_all: return {ExchangeKind::context_all_to_all};
        case ContextExchange::gather:
            return {ExchangeKind::context_gather, ExchangeKind::context_scatter};
    }
    return {};
}

Bytes gathered_for_scores(const TransformerShape& shape, const LayoutRequest& request) {
    if (request.context == 1 || request.context_exchange != ContextExchange::gather) return {};
    LayoutRequest of_one = request;
    of_one.batch = 1;
    return 2 * (request.context - 1) * own_tokens(shape, of_one, heads_of(shape, request).keys);
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
