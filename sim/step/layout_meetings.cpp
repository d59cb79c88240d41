// layout_meetings.cpp — of LayoutPlayer: what replicas exchange between two blocks, once all are
// there that it is for.
#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "sim/step/layout_player.hpp"

namespace ukemi::sim {

std::int32_t LayoutPlayer::replicas_that_meet(ExchangeKind kind) const {
    if (kind != ExchangeKind::token_all_to_all) return work_.degrees.data;
    return std::max(work_.expert / work_.expert_cell(), 1);
}

std::size_t LayoutPlayer::meeting_of(const Cell& cell, ExchangeKind kind) const {
    return index_of(cell.replica / replicas_that_meet(kind), cell.stage_rank);
}

void LayoutPlayer::place_exchanges(ClusterNetwork& network) {
    const auto place_kind = [&](const ModelBlock& block) {
        if (block.exchange && !is_within_cell(*block.exchange))
            place_meetings(network, *block.exchange);
    };
    for (const StageWork& stage : work_.stages) {
        for (const ModelBlock& block : stage.forward) place_kind(block);
        for (const ModelBlock& block : stage.backward) place_kind(block);
    }
}

// Each of a meeting's collectives is over some holders of a tensor rank's parameters.
void LayoutPlayer::place_meetings(ClusterNetwork& network, ExchangeKind kind) {
    const bool tokens = kind == ExchangeKind::token_all_to_all;
    INVARIANT(tokens || work_.cell() == 1);
    if (tokens && work_.expert == 1) return;
    std::vector<std::vector<PlacedCollective>>& placed = between_[kind];
    if (!placed.empty() || (!tokens && work_.degrees.data == 1)) return;
    placed.resize(cells_.size());
    // Expert groups within a cell follow each other.
    const std::int32_t in_a_cell = tokens ? std::max(work_.expert_cell() / work_.expert, 1) : 1;
    const std::int32_t tensor = tokens ? work_.expert_tensor() : work_.degrees.tensor;
    for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
        for (std::int32_t t = 0; t < tensor; ++t) {
            std::vector<std::vector<DeviceId>> groups;
            if (tokens) groups = work_.expert_groups(job().workers, t, p);
            if (!tokens) groups.push_back(holders(t, p));
            for (std::size_t g = 0; g < groups.size(); ++g) {
                const std::int32_t meeting = static_cast<std::int32_t>(g) / in_a_cell;
                placed[index_of(meeting, p)].push_back(
                    placed_exchange(network, kind, job(), groups[g]));
            }
        }
    }
}

void LayoutPlayer::meet(std::size_t index, const ModelBlock& block, Instant now) {
    const std::size_t number = meeting_of(cells_[index], *block.exchange);
    Rendezvous& meeting = met_[number];
    meeting.replicas = replicas_that_meet(*block.exchange);
    if (++meeting.there < meeting.replicas) return;
    start_meeting(number, *block.exchange, block.bytes, now);
}

// Of a pair's second pass the numbers are those after all cells.
void LayoutPlayer::start_meeting(std::size_t number, ExchangeKind kind, Bytes size, Instant now) {
    Rendezvous& meeting = met_[number];
    meeting.since = now;
    const std::vector<PlacedCollective>& placed = between_.at(kind)[number % cells_.size()];
    meeting.left = placed.size();
    for (const PlacedCollective& one : placed) {
        host().send(*this, one, size, now + job().launch.overhead,
                    token_of(LayoutToken::met, number));
    }
}

void LayoutPlayer::all_met(std::size_t number, Instant now) {
    if (--met_[number].left > 0) return;
    const Rendezvous met = std::exchange(met_[number], {});
    const auto meeting = static_cast<std::int32_t>(number % cells_.size());
    const std::size_t of = number / cells_.size();
    const std::int32_t stage_rank = meeting / work_.degrees.data;
    const std::int32_t first = meeting % work_.degrees.data * met.replicas;
    for (std::int32_t replica = first; replica < first + met.replicas; ++replica) {
        const std::size_t index = index_of(replica, stage_rank);
        Cell& cell = cells_[index];
        if (cell.pair) continue;
        sums_.straggler += work_.cell() * (met.since - cell.since);
        count_exchange(cell, now - met.since);
        note_span(cell, "wait for the slowest", cell.since, met.since);
        note_span(cell, "exchange", met.since, now);
    }
    for (std::int32_t replica = first; replica < first + met.replicas; ++replica) {
        const std::size_t index = index_of(replica, stage_rank);
        if (cells_[index].pair) {
            pair_sent(index, of, now);
        } else {
            next_block(index, now);
        }
    }
}

}  // namespace ukemi::sim
