// layout_gathers.cpp — of LayoutPlayer: parameters that its replicas divide among themselves.
#include <utility>

#include "base/invariant.hpp"
#include "sim/step/layout_player.hpp"

namespace ukemi::sim {

void LayoutPlayer::place_gathers(ClusterNetwork& network) {
    if (work_.holders() == 1) return;
    const auto gathers = [](const ModelBlock& block) { return block.gathered > Bytes{}; };
    const bool before_passes = gathers(work_.stages.front().forward.front());
    if (!before_passes && work_.updated_parts.empty()) return;
    for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
        std::vector<PlacedCollective>& placed = gathered_.emplace_back();
        for (std::int32_t t = 0; t < work_.degrees.tensor; ++t) {
            placed.push_back(placed_parts(network, ExchangeKind::all_gather, job(), holders(t, p),
                                          work_.degrees.tensor));
            note_links(placed.back().links());
        }
        if (!before_passes) continue;
        std::vector<Bytes> parts;
        for (const PipelinePass& pass : passes_[static_cast<std::size_t>(p)]) {
            if (pass.weights) continue;
            INVARIANT(gathers(work_.blocks_of(pass).front()));
            for (const ModelBlock& block : work_.blocks_of(pass)) {
                if (gathers(block)) parts.push_back(block.gathered);
            }
        }
        gathers_.emplace_back(std::move(parts), work_.degrees.data, work_.prefetch);
    }
}

bool LayoutPlayer::waits_for_parameters(std::size_t index, const ModelBlock& block, Instant now) {
    Cell& cell = cells_[index];
    if (block.gathered == Bytes{} || gathers_.empty()) return false;
    if (gathers_[static_cast<std::size_t>(cell.stage_rank)].is_there(cell.unit)) return false;
    cell.state = State::gathering;
    cell.since = now;
    return true;
}

// The unit before it is over.
void LayoutPlayer::come_to_unit(Cell& cell, Instant now) {
    if (gathers_.empty()) return;
    gathers_[static_cast<std::size_t>(cell.stage_rank)].come_to(++cell.unit);
    start_gather(cell.stage_rank, now);
}

void LayoutPlayer::start_gather(std::int32_t stage_rank, Instant now) {
    const auto number = static_cast<std::size_t>(stage_rank);
    const std::optional<Bytes> part = gathers_[number].take();
    if (!part) return;
    gathers_left_[number] = work_.degrees.tensor;
    for (const PlacedCollective& placed : gathered_[number]) {
        host().send(*this, placed, *part, now + job().launch.overhead,
                    token_of(LayoutToken::gathered, number));
    }
}

void LayoutPlayer::gather_arrived(std::int32_t stage_rank, Instant now) {
    const auto number = static_cast<std::size_t>(stage_rank);
    if (--gathers_left_[number] > 0) return;
    gathers_[number].arrived();
    start_gather(stage_rank, now);
    for (std::int32_t replica = 0; replica < work_.degrees.data; ++replica) {
        const std::size_t index = index_of(replica, stage_rank);
        const Cell& cell = cells_[index];
        if (cell.state != State::gathering || !gathers_[number].is_there(cell.unit)) continue;
        sums_.exchange += work_.cell() * (now - cell.since);
        note_span(cell, "gather", cell.since, now);
        begin_block(index, now);
    }
}

// Replicas that have updated a part each give it to the others.
void LayoutPlayer::updated(Instant now) {
    if (work_.updated_parts.empty() || work_.holders() == 1) return end_step(now);
    updated_at_ = now;
    for (std::size_t p = 0; p < gathered_.size(); ++p) {
        for (const PlacedCollective& placed : gathered_[p]) {
            ++updates_left_;
            host().send(*this, placed, work_.updated_parts[p], now + job().launch.overhead,
                        token_of(LayoutToken::shared, 0));
        }
    }
}

void LayoutPlayer::update_arrived(Instant now) {
    if (--updates_left_ > 0) return;
    sums_.sending += static_cast<std::int64_t>(job().workers.size()) * (now - updated_at_);
    for (const Cell& cell : cells_) note_span(cell, "gather parameters", updated_at_, now);
    end_step(now);
}

}  // namespace ukemi::sim
