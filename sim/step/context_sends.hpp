// context_sends.hpp — what ranks that divide a sample's tokens send each other around attention.
//
//   ring        keys and values go round while the scores are computed with those that are there;
//               backward their gradients go with them (Liu et al. 2023, "Ring attention")
//   all_to_all  each rank gets all tokens of a part of the heads, and gives the sums of values
//               back; backward the reverse (Jacobs et al. 2023, "DeepSpeed Ulysses", section 3)
//   gather      keys and values of all tokens are gathered before the scores, as they are of few
//               heads; backward again, if they are not there, and then the gradients are added up
//               and divided (Grattafiori et al. 2024, "The Llama 3 herd of models", section 3.3.2)
//
// Only in a ring is anything sent while a block computes.
#pragma once

#include <optional>
#include <string>

#include "base/quantity.hpp"
#include "sim/cluster/model_profile.hpp"
#include "sim/step/layout_plan.hpp"

namespace ukemi::sim {

// Of one rank of a context group, in a pass over a block's scores.
struct ContextSends {
    struct Sent {
        ExchangeKind kind{};
        Bytes bytes;  // as the kind counts them
    };
    std::optional<Sent> before;
    std::optional<Sent> of_scores;  // which is sent beside them or after them, as its kind is
};
enum class ContextPass : std::uint8_t {
    forward,
    scores_again,          // of selective recomputation, whose queries, keys and values are kept
    backward,              // nothing was computed again before it
    backward_after_again,  // the block's forward pass, or its scores, just were
};
ContextSends context_sends(const TransformerShape& shape, const LayoutRequest& request,
                           ContextPass pass);
// Keys and values of a sample that other ranks have, which are there while scores are computed.
Bytes gathered_for_scores(const TransformerShape& shape, const LayoutRequest& request);
// Heads of keys that a context group of one tensor rank has, with the copies that all_to_all needs
// where ranks are more than heads.
std::int64_t key_heads(const TransformerShape& shape, const LayoutRequest& request);

// Why such a group cannot divide the samples and heads of this model, or empty.
std::string context_fault(const TransformerShape& shape, const LayoutRequest& request);

}  // namespace ukemi::sim
