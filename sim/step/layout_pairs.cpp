// layout_pairs.cpp — of LayoutPlayer: a forward and a backward pass side by side.
//
// Both inputs must be there. Blocks of the two take turns: what a block of one exchanges is on its
// way while the other computes, and must be over before the next one of its own. Where both could
// go on, the one does that has done less of what it computes; a cell waits when both send.
#include <algorithm>
#include <numeric>

#include "base/invariant.hpp"
#include "sim/step/layout_player.hpp"

namespace ukemi::sim {

const PipelinePass& LayoutPlayer::pass_of_pair(const Cell& cell, std::size_t of) const {
    return passes_[static_cast<std::size_t>(cell.stage_rank)][cell.pass + of];
}

const std::vector<ModelBlock>& LayoutPlayer::blocks_of_pair(const Cell& cell,
                                                            std::size_t of) const {
    return work_.blocks_of(pass_of_pair(cell, of));
}

bool LayoutPlayer::is_over(const Cell& cell, std::size_t of) const {
    return cell.of_pair[of].next == blocks_of_pair(cell, of).size();
}

void LayoutPlayer::begin_pair(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const PipelinePass& ahead = pass_of_pair(cell, 0);
    const PipelinePass& back = pass_of_pair(cell, 1);
    INVARIANT(ahead.forward && work_.gives_gradients(back) && !back.weights);
    const Input* latest = nullptr;
    for (const PipelinePass* pass : {&ahead, &back}) {
        const Input* input = input_of(cell, *pass);
        if (input == nullptr) continue;
        if (input->arrived == Instant::never()) return;
        if (latest == nullptr || input->arrived > latest->arrived) latest = input;
    }
    count_wait(cell, latest, now);
    cell.pass_begin = now;
    cell.pair = true;
    cell.of_pair = {};
    for (std::vector<std::size_t>& ready : cell.buckets_ready) ready[chunk_of(back)] = 0;
    host_waits(cell, now);
    take_turn(index, now);
}

void LayoutPlayer::take_turn(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const auto& [ahead, back] = cell.of_pair;
    if (is_over(cell, 0) && is_over(cell, 1) && !ahead.sending && !back.sending) {
        return end_pair(index, now);
    }
    const bool first = !ahead.sending && !is_over(cell, 0);
    const bool second = !back.sending && !is_over(cell, 1);
    if (!first && !second) {
        cell.state = State::exchanging;
        cell.since = now;
        return;
    }
    cell.turn = first && (!second || ahead.done <= back.done) ? 0 : 1;
    compute(index, pass_of_pair(cell, cell.turn), cell.of_pair[cell.turn].next, now);
    compute_until(index, cell.until);
}

void LayoutPlayer::pair_computed(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const std::size_t of = cell.turn;
    const std::vector<ModelBlock>& blocks = blocks_of_pair(cell, of);
    const ModelBlock& block = blocks[cell.of_pair[of].next++];
    const double whole =
        std::accumulate(blocks.begin(), blocks.end(), 0.0,
                        [](double sum, const ModelBlock& one) { return sum + one.share; });
    if (whole > 0) cell.of_pair[of].done += block.share / whole;
    gradients_ready(cell, pass_of_pair(cell, of), block, now);
    send_of_pair(index, of, block, now);
    if (!cell.of_pair[of].sending) end_if_last(index, of, now);
    take_turn(index, now);
}

void LayoutPlayer::send_of_pair(std::size_t index, std::size_t of, const ModelBlock& block,
                                Instant now) {
    Cell& cell = cells_[index];
    if (!block.exchange || block.bytes == Bytes{}) return;
    const ExchangeKind kind = *block.exchange;
    cell.of_pair[of].sending = true;
    if (kind == ExchangeKind::tensor_all_reduce) {
        const std::vector<PlacedCollective>& placed = within_.at(kind)[index];
        INVARIANT(placed.size() == 1);  // no context groups
        return host().send(*this, placed.front(), block.bytes, now + job().launch.overhead,
                           token_of(LayoutToken::pair_sent, 2 * index + of));
    }
    INVARIANT(kind == ExchangeKind::token_all_to_all);
    const std::size_t number = meeting_of(cell, kind) + of * cells_.size();
    met_[number].replicas = replicas_that_meet(kind);
    if (++met_[number].there < met_[number].replicas) return;
    start_meeting(number, kind, block.bytes, now);
}

// What a block of this pass has sent is there.
void LayoutPlayer::pair_sent(std::size_t index, std::size_t of, Instant now) {
    Cell& cell = cells_[index];
    cell.of_pair[of].sending = false;
    end_if_last(index, of, now);
    if (cell.state != State::exchanging) return;
    count_exchange(cell, now - cell.since);
    note_span(cell, "exchange", cell.since, now);
    take_turn(index, now);
}

void LayoutPlayer::end_if_last(std::size_t index, std::size_t of, Instant now) {
    const Cell& cell = cells_[index];
    if (!is_over(cell, of)) return;
    const PipelinePass pass = pass_of_pair(cell, of);
    note_span(cell, name_of(pass), cell.pass_begin, now);
    hand_on(cell, pass, now);
}

void LayoutPlayer::end_pair(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    cell.pair = false;
    cell.pass += 2;
    cell.since = now;
    INVARIANT(cell.pass < passes_[static_cast<std::size_t>(cell.stage_rank)].size());
    cell.state = State::waiting;
    try_pass(index, now);
}

}  // namespace ukemi::sim
