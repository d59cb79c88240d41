// layout_player.cpp — cells, their passes and blocks, and whom they wait for.
#include "sim/step/layout_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/invariant.hpp"
#include "sim/step/codec_plan.hpp"

namespace ukemi::sim {
namespace {

constexpr double rounding = 1e-9;  // of shares
constexpr std::size_t of_all = 0;  // sets of gradients
constexpr std::size_t of_experts = 1;
constexpr int sender_bits = 32;  // of a sender's own tokens

}  // namespace

std::string LayoutPlayer::name_of(const PipelinePass& pass) const {
    const char* way = pass.forward ? "forward" : pass.weights ? "weights" : "backward";
    if (spec_.copies() > 1 && pass.stage >= spec_.workers) {
        return fmt::format("{} {} the other way", way, pass.micro_batch);
    }
    if (spec_.chunks == 1) return fmt::format("{} {}", way, pass.micro_batch);
    return fmt::format("{} {} chunk {}", way, pass.micro_batch, pass.stage / spec_.workers);
}

LayoutPlayer::LayoutPlayer(StepHost& host, const StepJob& job, const StepOptions& options)
    : StepPlayer(host, job, options),
      work_(*job.layout),
      draws_(job, host.network().topology(), options.seed),
      micro_batches_(static_cast<std::int32_t>(job.accumulation)) {
    const policies::Layout& degrees = work_.degrees;
    INVARIANT(static_cast<std::size_t>(work_.workers()) == job.workers.size());
    spec_ = work_.pipeline(micro_batches_);
    INVARIANT(static_cast<std::int32_t>(work_.stages.size()) == spec_.stages());
    check_pipeline(spec_, job.name);
    for (std::int32_t p = 0; p < degrees.pipeline; ++p)
        passes_.push_back(pipeline_passes(spec_, p));
    place(host);
    place_exchanges(host.network());
    place_gradients(host);
    place_gathers(host.network());
    place_words(host.network());
}

std::vector<DeviceId> LayoutPlayer::cell_workers(std::int32_t replica,
                                                 std::int32_t stage_rank) const {
    const auto first = static_cast<std::ptrdiff_t>(work_.rank(0, replica, stage_rank));
    const auto begin = job().workers.begin() + first;
    return {begin, begin + work_.cell()};
}

std::vector<DeviceId> LayoutPlayer::holders(std::int32_t tensor, std::int32_t stage_rank) const {
    return work_.holders_of(job().workers, tensor, stage_rank);
}

// Within cells, and between those of neighbouring stages.
void LayoutPlayer::place(StepHost& host) {
    ClusterNetwork& network = host.network();
    const policies::Layout& degrees = work_.degrees;
    const auto add_way = [&](std::int32_t replica, std::int32_t from, std::int32_t to) {
        ways_.push_back({PlacedTransfer::between(network, cell_workers(replica, from),
                                                 cell_workers(replica, to), sent_by(job())),
                         {}});
    };
    const std::vector<ExchangeKind> context_kinds = work_.context_kinds();
    for (std::int32_t p = 0; p < degrees.pipeline; ++p) {
        for (std::int32_t d = 0; d < degrees.data; ++d) {
            cells_.emplace_back();
            cells_.back().replica = d;
            cells_.back().stage_rank = p;
            place_cell(network, cell_workers(d, p), context_kinds);
            if (degrees.pipeline == 1) continue;
            add_way(d, p, (p + degrees.pipeline - 1) % degrees.pipeline);
            add_way(d, p, (p + 1) % degrees.pipeline);
        }
    }
}

// Its tensor groups, one for each context rank; and its context groups of these, one for each
// tensor rank.
void LayoutPlayer::place_cell(ClusterNetwork& network, const std::vector<DeviceId>& workers,
                              std::span<const ExchangeKind> context_kinds) {
    const auto tensor = static_cast<std::size_t>(work_.degrees.tensor);
    if (tensor > 1) {
        auto& placed = within_[ExchangeKind::tensor_all_reduce].emplace_back();
        for (std::size_t first = 0; first < workers.size(); first += tensor) {
            const auto group = std::span(workers).subspan(first, tensor);
            const std::int32_t each = workers_per_machine(network.topology(), group);
            if (job().nccl) {
                placed.push_back(placed_all_reduce(network, job(), group, each));
            } else {
                placed.emplace_back(network, policies::Collective::ring, group, each, job().name);
            }
        }
    }
    if (work_.overlaps_tensor) {
        auto& gathers = within_[ExchangeKind::tensor_gather].emplace_back();
        auto& scatters = within_[ExchangeKind::tensor_scatter].emplace_back();
        for (std::size_t first = 0; first < workers.size(); first += tensor) {
            const auto group = std::span(workers).subspan(first, tensor);
            gathers.push_back(placed_parts(network, ExchangeKind::all_gather, job(), group));
            scatters.push_back(placed_parts(network, ExchangeKind::reduce_scatter, job(), group));
        }
    }
    for (const ExchangeKind kind : context_kinds) {
        std::vector<PlacedCollective>& placed = within_[kind].emplace_back();
        for (std::size_t t = 0; t < tensor; ++t) {
            std::vector<DeviceId> group;
            for (std::size_t i = t; i < workers.size(); i += tensor) group.push_back(workers[i]);
            placed.push_back(placed_exchange(network, kind, job(), group));
        }
    }
}

const std::vector<GradientBucket>& LayoutPlayer::buckets_of(std::size_t set,
                                                            std::size_t stage) const {
    return set == of_all ? work_.stages[stage].buckets : work_.stages[stage].expert_buckets;
}

void LayoutPlayer::list_buckets(std::size_t set) {
    GradientSet& gradients = gradients_[set];
    gradients.first.resize(work_.stages.size());
    for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
        std::vector<GradientBucket>& all = gradients.buckets.emplace_back();
        for (std::size_t stage = static_cast<std::size_t>(p); stage < work_.stages.size();
             stage += static_cast<std::size_t>(work_.degrees.pipeline)) {
            gradients.first[stage] = all.size();
            // Copies are added up with the stage itself.
            if (spec_.copies() > 1 && stage >= passes_.size()) {
                gradients.first[stage] = gradients.first[stage - passes_.size()];
                continue;
            }
            const std::vector<GradientBucket>& buckets = buckets_of(set, stage);
            const std::int32_t times = work_.sends_every_pass ? micro_batches_ : 1;
            for (std::int32_t i = 0; i < times; ++i) {
                all.insert(all.end(), buckets.begin(), buckets.end());
            }
        }
    }
}

void LayoutPlayer::place_gradients(StepHost& host) {
    for (const std::size_t set : {of_all, of_experts}) {
        const bool sends = set == of_all ? work_.adders() > 1
                                         : work_.has_expert_sets() && work_.expert_adders() > 1;
        if (!sends) continue;
        list_buckets(set);
        place_senders(host, set);
    }
}

void LayoutPlayer::place_senders(StepHost& host, std::size_t set) {
    for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
        std::vector<std::vector<DeviceId>> groups;
        const std::int32_t tensor = set == of_all ? work_.degrees.tensor : work_.expert_tensor();
        for (std::int32_t t = 0; t < tensor; ++t) {
            if (set == of_all) {
                groups.push_back(work_.adders_of(job().workers, t, p));
                continue;
            }
            std::ranges::move(work_.experts_adders(job().workers, t, p),
                              std::back_inserter(groups));
        }
        std::vector<GradientLane> lanes = gradient_lanes(host.network(), job(), groups);
        const bool scatters = lanes.size() > scatter_lane;
        if (set == of_all || result().collective.empty()) {
            result().collective = (scatters ? lanes[scatter_lane] : lanes.front()).front().name();
        }
        for (const GradientLane& lane : lanes) {
            for (const PlacedCollective& one : lane) note_links(one.links());
        }
        const auto number = static_cast<std::uint64_t>(p);
        const std::uint64_t sender = number * gradients_.size() + set;
        gradients_[set].senders.emplace_back(host, *this, job().launch,
                                             gradients_[set].buckets[number], std::move(lanes),
                                             launch_peers(host.network(), job().launch, groups[0]),
                                             token_of(LayoutToken::sender, sender << sender_bits));
    }
}

std::size_t LayoutPlayer::rank_of_sender(std::uint64_t number) const {
    return (number >> sender_bits) / gradients_.size();
}

GradientSender& LayoutPlayer::sender_of(std::uint64_t number) {
    const std::uint64_t set = (number >> sender_bits) % gradients_.size();
    return gradients_[set].senders[rank_of_sender(number)];
}

std::size_t LayoutPlayer::index_of(std::int32_t replica, std::int32_t stage_rank) const {
    return static_cast<std::size_t>(replica + work_.degrees.data * stage_rank);
}

const PipelinePass& LayoutPlayer::pass_of(const Cell& cell) const {
    return passes_[static_cast<std::size_t>(cell.stage_rank)][cell.pass];
}

std::size_t LayoutPlayer::chunk_of(const PipelinePass& pass) const {
    return static_cast<std::size_t>(pass.stage / work_.degrees.pipeline);
}

std::size_t LayoutPlayer::slot(std::int32_t replica, bool forward, std::int32_t stage,
                               std::int32_t micro_batch) const {
    const auto stages = static_cast<std::int64_t>(work_.stages.size());
    const std::int64_t row = (std::int64_t{replica} * 2 + (forward ? 0 : 1)) * stages + stage;
    return static_cast<std::size_t>(row * micro_batches_ + micro_batch);
}

// Null if it needs nothing from elsewhere: the batch itself, or the worker's own forward pass.
LayoutPlayer::Input* LayoutPlayer::input_of(const Cell& cell, const PipelinePass& pass) {
    if (pass.weights || (pass.forward ? spec_.is_first(pass.stage) : spec_.is_last(pass.stage))) {
        return nullptr;
    }
    return &inputs_[slot(cell.replica, pass.forward, pass.stage, pass.micro_batch)];
}

void LayoutPlayer::play_step(Instant begin) {
    const std::vector<double> factors = draws_.next_factors();
    pace_ns_.resize(factors.size());
    for (std::size_t rank = 0; rank < factors.size(); ++rank) {
        pace_ns_[rank] = static_cast<double>(job().compute[rank].raw()) * factors[rank];
    }
    const std::size_t chunks = work_.stages.size() / passes_.size();
    for (Cell& cell : cells_) {
        Cell fresh;
        fresh.replica = cell.replica;
        fresh.stage_rank = cell.stage_rank;
        fresh.since = fresh.pass_begin = fresh.launched = fresh.until = begin;
        for (std::vector<std::size_t>& ready : fresh.buckets_ready) ready.resize(chunks);
        cell = std::move(fresh);
    }
    for (ParameterGathers& gathers : gathers_) {
        gathers.begin_step();
        for (std::int32_t d = 0; d < work_.degrees.data; ++d) gathers.come_to(0);
    }
    gathers_left_.assign(gathers_.size(), 0);
    sending_.assign(passes_.size(), {});
    cells_left_ = cells_.size();
    updating_ = false;
    inputs_.assign(slot(work_.degrees.data, true, 0, 0), {});
    met_.assign(2 * cells_.size(), {});
    for (GradientSet& set : gradients_) {
        set.bucket_left.clear();
        for (const std::vector<GradientBucket>& buckets : set.buckets) {
            set.bucket_left.emplace_back(buckets.size(), work_.degrees.data * spec_.copies());
        }
        for (GradientSender& sender : set.senders) sender.begin_step();
    }
    sums_ = {};
    host().wake(*this, begin, token_of(LayoutToken::begin, 0));
}

void LayoutPlayer::woken(std::uint64_t token, Instant now) {
    const std::uint64_t number = token & ((std::uint64_t{1} << layout_kind_bits) - 1);
    switch (static_cast<LayoutToken>(token >> layout_kind_bits)) {
        case LayoutToken::begin:
            for (std::size_t p = 0; p < gathers_.size(); ++p) {
                start_gather(static_cast<std::int32_t>(p), now);
            }
            for (std::size_t cell = 0; cell < cells_.size(); ++cell) try_pass(cell, now);
            break;
        case LayoutToken::computed: block_computed(number, now); break;
        case LayoutToken::sender: {
            sender_of(number).woken(token, now);
            note_sending(rank_of_sender(number), now);
            break;
        }
        case LayoutToken::updated: return updated(now);
        case LayoutToken::came: input_arrived(number, now); break;
        default: INVARIANT(false);
    }
    end_if_done(now);
}

void LayoutPlayer::arrived(std::uint64_t token, Instant now) {
    const std::uint64_t number = token & ((std::uint64_t{1} << layout_kind_bits) - 1);
    switch (static_cast<LayoutToken>(token >> layout_kind_bits)) {
        case LayoutToken::exchanged: {
            Cell& cell = cells_[number];
            if (--cell.left > 0) break;
            if (cell.state == State::computing) return ring_arrived(number, now);
            count_exchange(cell, now - cell.since);
            note_span(cell, words_of(exchange_of(cell)), cell.since, now);
            next_block(number, now);
            break;
        }
        case LayoutToken::met: all_met(number, now); break;
        case LayoutToken::input: input_left(number, now); break;
        case LayoutToken::sender: {
            sender_of(number).arrived(token, now);
            note_sending(rank_of_sender(number), now);
            break;
        }
        case LayoutToken::gathered: gather_arrived(static_cast<std::int32_t>(number), now); break;
        case LayoutToken::shared: return update_arrived(now);
        case LayoutToken::words: return words_arrived(now);
        case LayoutToken::pair_sent: pair_sent(number / 2, number % 2, now); break;
        default: INVARIANT(false);
    }
    end_if_done(now);
}

void LayoutPlayer::try_pass(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    if (cell.state != State::waiting) return;
    const PipelinePass& pass = pass_of(cell);
    if (pass.beside_next) return begin_pair(index, now);
    const Input* input = input_of(cell, pass);
    if (input != nullptr && input->arrived == Instant::never()) return;
    count_wait(cell, input, now);
    cell.pass_begin = now;
    cell.block = 0;
    if (work_.gives_gradients(pass)) {
        for (std::vector<std::size_t>& ready : cell.buckets_ready) ready[chunk_of(pass)] = 0;
    }
    // The host waits for what comes from another stage; else it runs ahead of the device.
    if (work_.degrees.pipeline > 1) host_waits(cell, now);
    begin_block(index, now);
}

// From when it was idle to now: nothing was on its way to it, then something was.
void LayoutPlayer::count_wait(const Cell& cell, const Input* input, Instant now) {
    const Instant sent = input == nullptr ? now : std::clamp(input->sent, cell.since, now);
    sums_.bubble += work_.cell() * (sent - cell.since);
    sums_.transfer += work_.cell() * (now - sent);
    note_span(cell, "bubble", cell.since, sent);
    note_span(cell, "transfer", sent, now);
}

void LayoutPlayer::begin_block(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const PipelinePass& pass = pass_of(cell);
    const ModelBlock& block = work_.blocks_of(pass)[cell.block];
    if (waits_for_parameters(index, block, now)) return;
    compute(index, pass, cell.block, now);
    if (block.exchange && is_beside(*block.exchange) && work_.parts(*block.exchange) > 1) {
        const bool scatters = *block.exchange == ExchangeKind::tensor_scatter;
        const Duration all = cell.until - now;
        const Duration first = Duration::of(all.raw() / work_.parts(*block.exchange));
        return send_within(index, within_.at(*block.exchange)[index], block.bytes,
                           scatters ? now + first : now);
    }
    compute_until(index, cell.until);
}

// A block of a pass, from now until `until`.
void LayoutPlayer::compute(std::size_t index, const PipelinePass& pass, std::size_t block,
                           Instant now) {
    Cell& cell = cells_[index];
    const auto rank_of = [&](std::int32_t inner) {
        return static_cast<std::size_t>(work_.rank(inner, cell.replica, cell.stage_rank));
    };
    const auto block_on = [&](std::size_t rank) -> const ModelBlock& {
        return work_.blocks_of(pass, work_.kind_of(rank))[block];
    };
    double slowest_ns = 0;  // of the hosts
    for (std::int32_t inner = 0; inner < work_.cell(); ++inner) {
        const std::size_t rank = rank_of(inner);
        slowest_ns = std::max(slowest_ns, block_on(rank).launch_share * pace_ns_[rank]);
    }
    if (work_.blocks_of(pass)[block].host_waits) host_waits(cell, now);
    cell.launched = cell.launched + Duration::of(round_nearest(slowest_ns));
    const Duration launches = std::max(cell.launched - (now - cell.delay), Duration{});
    Duration longest_share;
    Duration longest;  // as if no exchange had delayed it
    Duration all;
    for (std::int32_t inner = 0; inner < work_.cell(); ++inner) {
        const std::size_t rank = rank_of(inner);
        const Duration share = Duration::of(round_nearest(block_on(rank).share * pace_ns_[rank]));
        const Duration own = std::max(share, launches);
        longest_share = std::max(longest_share, share);
        longest = std::max(longest, own);
        all += own;
    }
    sums_.compute += all;
    sums_.straggler += work_.cell() * longest - all;
    cell.state = State::computing;
    cell.since = now;
    // What the host has not launched by then hides that much of the delay.
    const Duration hidden = std::min(cell.delay, longest - longest_share);
    sums_.exchange = sums_.exchange - work_.cell() * hidden;
    cell.delay = cell.delay - hidden;
    cell.until = now + (longest - hidden);
    cell.spare = longest - hidden - longest_share;
    cell.sent = sending_[static_cast<std::size_t>(cell.stage_rank)].total(now);
}

void LayoutPlayer::count_exchange(Cell& cell, Duration time) {
    sums_.exchange += work_.cell() * time;
    cell.delay += time;
}

void LayoutPlayer::host_waits(Cell& cell, Instant now) {
    if (cell.launched >= now) return;
    cell.launched = now;
    cell.delay = {};
}

// Of a cell: all at once, `left` until they are over.
void LayoutPlayer::send_within(std::size_t index, const std::vector<PlacedCollective>& placed,
                               Bytes size, Instant now) {
    cells_[index].left = placed.size();
    for (const PlacedCollective& one : placed) {
        host().send(*this, one, size, now + job().launch.overhead,
                    token_of(LayoutToken::exchanged, index));
    }
}

// Of the last rank, all is there: what computes with that is one part of all.
void LayoutPlayer::ring_arrived(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const ExchangeKind kind = exchange_of(cell);
    Duration last = Duration::of((cell.until - cell.since).raw() / work_.parts(kind));
    if (kind == ExchangeKind::tensor_scatter) last = {};
    const Instant end = std::max(cell.until, now + last);
    count_exchange(cell, end - cell.until);
    cell.spare += end - cell.until;
    note_span(cell, words_of(kind), cell.until, end);
    compute_until(index, end);
}

void LayoutPlayer::block_computed(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    if (now != cell.due || is_slowed(index, now)) return;
    cell.due = Instant::never();  // it is over once, whatever else wakes it now
    if (cell.pair) return pair_computed(index, now);
    const PipelinePass& pass = pass_of(cell);
    const ModelBlock& block = work_.blocks_of(pass)[cell.block];
    gradients_ready(cell, pass, block, now);
    const bool sends = block.exchange && !is_beside(*block.exchange);
    if (sends && block.bytes > Bytes{}) return begin_exchange(index, block, now);
    next_block(index, now);
}

void LayoutPlayer::begin_exchange(std::size_t index, const ModelBlock& block, Instant now) {
    Cell& cell = cells_[index];
    const ExchangeKind kind = *block.exchange;
    const bool within = is_within_cell(kind);
    const bool tokens = kind == ExchangeKind::token_all_to_all;
    const std::int32_t ranks = within   ? work_.parts(kind)
                               : tokens ? work_.expert
                                        : work_.degrees.data;
    if (ranks == 1) return next_block(index, now);
    cell.state = State::exchanging;
    cell.since = now;
    if (!within) return meet(index, block, now);
    send_within(index, within_.at(kind)[index], block.bytes, now);
}

void LayoutPlayer::next_block(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const std::vector<ModelBlock>& blocks = work_.blocks_of(pass_of(cell));
    if (++cell.block == blocks.size()) return end_pass(index, now);
    if (!blocks[cell.block].gathered.is_empty()) come_to_unit(cell, now);
    begin_block(index, now);
}

void LayoutPlayer::gradients_ready(Cell& cell, const PipelinePass& pass, const ModelBlock& block,
                                   Instant now) {
    const bool last = pass.micro_batch + 1 == spec_.micro_batches_a_way();
    if (!work_.gives_gradients(pass) || (!last && !work_.sends_every_pass)) return;
    for (const std::size_t set : {of_all, of_experts}) {
        if (!gradients_[set].senders.empty()) buckets_ready(cell, pass, block, set, now);
    }
    note_sending(static_cast<std::size_t>(pass.stage) % passes_.size(), now);
}

void LayoutPlayer::buckets_ready(Cell& cell, const PipelinePass& pass, const ModelBlock& block,
                                 std::size_t set, Instant now) {
    GradientSet& gradients = gradients_[set];
    const auto stage = static_cast<std::size_t>(pass.stage);
    const std::size_t number = stage % passes_.size();
    const std::vector<GradientBucket>& buckets = buckets_of(set, stage);
    const std::size_t first =
        gradients.first[stage] +
        (work_.sends_every_pass ? static_cast<std::size_t>(pass.micro_batch) * buckets.size() : 0);
    std::size_t& next = cell.buckets_ready[set][chunk_of(pass)];
    for (; next < buckets.size() && buckets[next].ready <= block.gradients_ready + rounding;
         ++next) {
        const std::size_t bucket = first + next;
        if (--gradients.bucket_left[number][bucket] > 0) continue;
        gradients.senders[number].bucket_ready(static_cast<std::uint32_t>(bucket), now);
    }
}

void LayoutPlayer::end_pass(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const PipelinePass pass = pass_of(cell);
    note_span(cell, name_of(pass), cell.pass_begin, now);
    cell.since = now;
    const bool last = ++cell.pass == passes_[static_cast<std::size_t>(cell.stage_rank)].size();
    cell.state = last ? State::done : State::waiting;
    if (!pass.weights) come_to_unit(cell, now);
    hand_on(cell, pass, now);
    if (!last) return try_pass(index, now);
    if (--cells_left_ == 0) all_computed(now);
}

void LayoutPlayer::hand_on(const Cell& cell, const PipelinePass& pass, Instant now) {
    if (pass.weights || (pass.forward ? spec_.is_last(pass.stage) : spec_.is_first(pass.stage))) {
        return;
    }
    const std::int32_t next = pass.stage + (pass.forward ? 1 : -1);
    const std::size_t number = slot(cell.replica, pass.forward, next, pass.micro_batch);
    inputs_[number].sent = now;
    const std::int32_t cut = pass.forward ? pass.stage : next;  // activations cross it
    const Bytes size = work_.stages[static_cast<std::size_t>(cut)].activations;
    if (size == Bytes{} || work_.degrees.pipeline == 1) {
        inputs_[number].arrived = now;
        return try_pass(index_of(cell.replica, spec_.worker_of(next)), now);
    }
    const std::size_t from = index_of(cell.replica, cell.stage_rank);
    const std::size_t way = 2 * from + (goes_up(pass.forward, pass.stage) ? 1 : 0);
    ways_[way].sendings.push_back({number, size});
    if (ways_[way].sendings.size() == 1) send_first(way, now);
}

// Forwards on the other way is backwards on this one.
bool LayoutPlayer::goes_up(bool forward, std::int32_t from_stage) const {
    return forward == (spec_.copies() == 1 || from_stage < spec_.workers);
}

void LayoutPlayer::send_first(std::size_t way, Instant now) {
    const Way& on = ways_[way];
    host().send(*this, on.transfer.sends, on.sendings.front().size, now,
                token_of(LayoutToken::input, way));
}

// The next one follows at once, while this one is on its way.
void LayoutPlayer::input_left(std::size_t way, Instant now) {
    Way& on = ways_[way];
    const std::size_t number = on.sendings.front().input;
    on.sendings.pop_front();
    if (!on.sendings.empty()) send_first(way, now);
    if (on.transfer.latency == Duration{}) return input_arrived(number, now);
    host().wake(*this, now + on.transfer.latency, token_of(LayoutToken::came, number));
}

void LayoutPlayer::input_arrived(std::size_t number, Instant now) {
    inputs_[number].arrived = now;
    // The cell that waits for it, if one does: it is the only one with this slot.
    const std::size_t row = number / static_cast<std::size_t>(micro_batches_);
    const std::size_t stages = work_.stages.size();
    try_pass(index_of(static_cast<std::int32_t>(row / stages / 2),
                      spec_.worker_of(static_cast<std::int32_t>(row % stages))),
             now);
}

void LayoutPlayer::all_computed(Instant now) {
    for (const Cell& cell : cells_) {
        const Duration idle = now - cell.since;
        const bool in_pipeline = work_.degrees.pipeline > 1;
        (in_pipeline ? sums_.bubble : sums_.straggler) += work_.cell() * idle;
        note_span(cell, in_pipeline ? "bubble" : "wait for the slowest", cell.since, now);
    }
    set_computed_at(now);
}

void LayoutPlayer::end_if_done(Instant now) {
    if (cells_left_ > 0 || computed_at() == Instant::never() || updating_) return;
    for (const GradientSet& set : gradients_) {
        for (const GradientSender& sender : set.senders) {
            if (!sender.all_arrived()) return;
        }
    }
    updating_ = true;
    const auto workers = static_cast<std::int64_t>(job().workers.size());
    const StepParts rest = exposed(now);
    sums_.input = workers * record().parts.input;
    sums_.sending = workers * rest.sending;
    sums_.coding = workers * rest.coding;
    sums_.agreeing = workers * rest.agreeing;
    for (const Cell& cell : cells_) {
        const Instant whole = record().begin + record().parts.torn;
        note_span(cell, "torn", record().begin, whole);
        note_span(cell, "wait for input", whole, record().compute_begin);
        note_span(cell, "wait for all gradients", computed_at(), now);
    }
    add_up_words(now);
}

void LayoutPlayer::end_step(Instant now) {
    sums_.torn = static_cast<std::int64_t>(job().workers.size()) * record().parts.torn;
    record().parts = mean_parts(sums_, static_cast<std::int64_t>(job().workers.size()));
    finish_step(now);
}

void LayoutPlayer::note_span(const Cell& cell, std::string name, Instant begin, Instant end) {
    if (!record().detailed || end <= begin) return;
    record().spans.push_back(
        {work_.rank(0, cell.replica, cell.stage_rank), work_.cell(), std::move(name), begin, end});
}

}  // namespace ukemi::sim
