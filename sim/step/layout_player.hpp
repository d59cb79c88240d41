// layout_player.hpp — a step of a model that is cut into stages (pipeline), whose layers are cut
// over tensor groups, and of which there are replicas (data).
//
// Every cell (a replica's tensor group on one pipeline rank) goes through its list of passes, each
// as soon as its input has arrived. A pass is a row of blocks; after a block its exchange must be
// over before the next begins. Activations and their gradients travel between stages as flows, one
// for each tensor rank, while the sender goes on. Buckets of gradients become ready in the last
// micro-batch's backward pass (of every one, where replicas divide them), and are sent between the
// replicas when all have them; so are those of experts, between those who have the same ones. What
// the first and the last stage have both, each of their workers then adds up with its counterpart.
// Tokens go to experts when all replicas of the expert group have come. Parameters that are divided
// are gathered before the units that need them (parameter_gathers.hpp); waiting for them counts as
// an exchange. Updated parameters that replicas have a part of each are gathered at the step's end,
// which counts as sending.
//
// A tensor group computes as slowly as its slowest worker. While parameters or gradients of its
// pipeline rank are on the way between replicas, it loses LayoutWork::slowed_by_sending of its
// pace.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>

#include "sim/step/gradient_lanes.hpp"
#include "sim/step/gradient_sender.hpp"
#include "sim/step/parameter_gathers.hpp"
#include "sim/step/step_player.hpp"

namespace ukemi::sim {

class LayoutPlayer final : public StepPlayer {
public:
    // job.layout must be there and its workers as many as the job's.
    LayoutPlayer(StepHost& host, const StepJob& job, const StepOptions& options);

    void woken(std::uint64_t token, Instant now) override;
    void arrived(std::uint64_t token, Instant now) override;

private:
    // Tokens: what, and of which cell, input or pipeline rank.
    enum class LayoutToken : std::uint8_t {
        begin,
        computed,
        exchanged,
        met,
        input,
        sender,
        updated,
        gathered,
        shared,
        words,
        pair_sent,  // twice the cell, and which of its passes
        came,       // an input, whose bytes had left
    };
    static constexpr int layout_kind_bits = 56;
    static std::uint64_t token_of(LayoutToken kind, std::uint64_t number) {
        return std::uint64_t{static_cast<std::uint8_t>(kind)} << layout_kind_bits | number;
    }
    enum class State : std::uint8_t { waiting, computing, exchanging, gathering, done };
    struct Cell {
        std::int32_t replica = 0;
        std::int32_t stage_rank = 0;
        State state = State::waiting;
        std::size_t pass = 0;
        std::size_t block = 0;
        Instant since;        // in this state
        Instant pass_begin;   // of the pass under way
        Instant launched;     // its host has launched all blocks up to this one
        Duration delay;       // by exchanges, that launching has not hidden
        Instant until;        // the block under way is computed
        Duration spare;       // of that: the device waits for its host, or for pieces
        Duration sent;        // SendingTime::total() when the block began
        Instant planned;      // the block under way is over, if nothing that is sent slows it
        Instant due;          // the same as far as is known; wakes for other times mean nothing
        bool slowed = false;  // it has not been over when it was planned
        std::array<std::vector<std::size_t>, 2> buckets_ready;  // of all, of experts; by chunk
        std::size_t unit = 0;  // of the step's, to which it has come
        std::size_t left = 0;  // of what it exchanges
        // Two passes side by side: `pass` and the next one, whose blocks take turns.
        struct InPair {
            std::size_t next = 0;  // block
            double done = 0;       // of what it computes, all its blocks' shares
            bool sending = false;  // a block of it has been computed, and is sent
        };
        bool pair = false;
        std::size_t turn = 0;  // of the first one or of the second
        std::array<InPair, 2> of_pair{};
    };
    // What a cell sends to a neighbouring stage goes one after another, as on a stream.
    struct Way {
        struct Sending {
            std::size_t input = 0;  // whose
            Bytes size;
        };
        PlacedTransfer transfer;
        std::deque<Sending> sendings;  // the first is leaving
    };
    // What a pass needs from another stage.
    struct Input {
        Instant sent = Instant::never();
        Instant arrived = Instant::never();
    };
    struct Rendezvous {  // of replicas of a pipeline rank that follow each other
        std::int32_t there = 0;
        std::int32_t replicas = 0;
        std::size_t left = 0;  // of what they exchange
        Instant since;         // all have come
    };
    // What is added up by all replicas of a pipeline rank, or by those who have the same experts.
    struct GradientSet {
        std::deque<std::vector<GradientBucket>> buckets;     // by pipeline rank
        std::vector<std::size_t> first;                      // by stage
        std::deque<GradientSender> senders;                  // by pipeline rank, or none
        std::vector<std::vector<std::int32_t>> bucket_left;  // by pipeline rank: replicas without
    };

    // While anything of a pipeline rank is on the way between replicas.
    struct SendingTime {
        bool on = false;
        Instant since;
        Duration before;  // this time
        Duration total(Instant now) const { return on ? before + (now - since) : before; }
    };

    struct PartGathers {  // groups that bring a DividedPart together
        std::vector<PlacedCollective> of_all;
        std::vector<PlacedCollective> of_experts;
    };

    void play_step(Instant begin) override;
    void place(StepHost& host);
    ExchangeKind exchange_of(const Cell& cell) const {
        return *work_.blocks_of(pass_of(cell))[cell.block].exchange;
    }
    void place_cell(ClusterNetwork& network, const std::vector<DeviceId>& workers,
                    std::span<const ExchangeKind> context_kinds);
    void place_exchanges(ClusterNetwork& network);
    void place_meetings(ClusterNetwork& network, ExchangeKind kind);
    void place_gradients(StepHost& host);
    void place_senders(StepHost& host, std::size_t set);
    void list_buckets(std::size_t set);
    void place_gathers(ClusterNetwork& network);
    void place_words(ClusterNetwork& network);
    void place_parts(ClusterNetwork& network, std::span<const std::vector<DeviceId>> groups,
                     std::vector<PlacedCollective>& placed);
    std::size_t send_parts(std::size_t stage_rank, const DividedPart& part, std::uint64_t token,
                           Instant now);
    std::vector<DeviceId> cell_workers(std::int32_t replica, std::int32_t stage_rank) const;
    std::vector<DeviceId> holders(std::int32_t tensor, std::int32_t stage_rank) const;
    const std::vector<GradientBucket>& buckets_of(std::size_t set, std::size_t stage) const;
    std::size_t rank_of_sender(std::uint64_t number) const;
    GradientSender& sender_of(std::uint64_t number);
    std::int32_t replicas_that_meet(ExchangeKind kind) const;
    std::size_t meeting_of(const Cell& cell, ExchangeKind kind) const;

    std::size_t index_of(std::int32_t replica, std::int32_t stage_rank) const;
    const PipelinePass& pass_of(const Cell& cell) const;
    std::size_t chunk_of(const PipelinePass& pass) const;
    std::string name_of(const PipelinePass& pass) const;

    Input* input_of(const Cell& cell, const PipelinePass& pass);
    std::size_t slot(std::int32_t replica, bool forward, std::int32_t stage,
                     std::int32_t micro_batch) const;

    void try_pass(std::size_t index, Instant now);
    void begin_block(std::size_t index, Instant now);
    void block_computed(std::size_t index, Instant now);
    void begin_exchange(std::size_t index, const ModelBlock& block, Instant now);
    void count_exchange(Cell& cell, Duration time);
    void host_waits(Cell& cell, Instant now);
    void send_within(std::size_t index, const std::vector<PlacedCollective>& placed, Bytes size,
                     Instant now);
    void ring_arrived(std::size_t index, Instant now);
    void meet(std::size_t index, const ModelBlock& block, Instant now);
    void all_met(std::size_t number, Instant now);
    bool waits_for_parameters(std::size_t index, const ModelBlock& block, Instant now);
    void come_to_unit(Cell& cell, Instant now);
    void start_gather(std::int32_t stage_rank, Instant now);
    void gather_arrived(std::int32_t stage_rank, Instant now);
    void next_block(std::size_t index, Instant now);
    void compute(std::size_t index, const PipelinePass& pass, std::size_t block, Instant now);
    void note_sending(std::size_t stage_rank, Instant now);
    void note_sending_of(std::size_t stage_rank, bool on, Instant now);
    void compute_until(std::size_t index, Instant end);
    void wait_until(std::size_t index, Instant end);
    Instant slowed_until(const Cell& cell, Instant now) const;
    bool is_slowed(std::size_t index, Instant now);

    void begin_pair(std::size_t index, Instant now);
    const PipelinePass& pass_of_pair(const Cell& cell, std::size_t of) const;
    const std::vector<ModelBlock>& blocks_of_pair(const Cell& cell, std::size_t of) const;
    bool is_over(const Cell& cell, std::size_t of) const;
    void take_turn(std::size_t index, Instant now);
    void pair_computed(std::size_t index, Instant now);
    void pair_sent(std::size_t index, std::size_t of, Instant now);
    void end_pair(std::size_t index, Instant now);
    void end_if_last(std::size_t index, std::size_t of, Instant now);
    void send_of_pair(std::size_t index, std::size_t of, const ModelBlock& block, Instant now);
    void start_meeting(std::size_t number, ExchangeKind kind, Bytes size, Instant now);

    void end_pass(std::size_t index, Instant now);
    void hand_on(const Cell& cell, const PipelinePass& pass, Instant now);
    void send_first(std::size_t way, Instant now);
    bool goes_up(bool forward, std::int32_t from_stage) const;
    void input_left(std::size_t way, Instant now);
    void input_arrived(std::size_t number, Instant now);
    void gradients_ready(Cell& cell, const PipelinePass& pass, const ModelBlock& block,
                         Instant now);
    void buckets_ready(Cell& cell, const PipelinePass& pass, const ModelBlock& block,
                       std::size_t set, Instant now);
    void count_wait(const Cell& cell, const Input* input, Instant now);
    void all_computed(Instant now);
    void end_if_done(Instant now);
    void add_up_words(Instant now);
    void words_arrived(Instant now);
    void update(Instant now);
    void updated(Instant now);
    void update_arrived(Instant now);
    void end_step(Instant now);
    void note_span(const Cell& cell, std::string name, Instant begin, Instant end);

    const LayoutWork& work_;
    StragglerDraws draws_;
    std::int32_t micro_batches_ = 1;
    PipelineSpec spec_;
    std::vector<std::vector<PipelinePass>> passes_;  // by pipeline rank
    // What goes on within a cell, by cell: its groups.
    std::map<ExchangeKind, std::vector<std::vector<PlacedCollective>>> within_;
    std::vector<Way> ways_;  // by cell: to the stage before, and to the next one
    // By meeting_of(): what they exchange at once.
    std::map<ExchangeKind, std::vector<std::vector<PlacedCollective>>> between_;
    std::array<GradientSet, 2> gradients_;   // of all, of experts
    std::vector<ParameterGathers> gathers_;  // by pipeline rank, if there are any
    std::vector<PartGathers> gathered_;      // by pipeline rank, if so
    std::vector<SendingTime> sending_;       // by pipeline rank
    std::vector<PlacedCollective> words_;    // of every two workers with LayoutWork::words

    std::vector<double> pace_ns_;  // by rank: job.compute times this step's factor
    std::vector<Cell> cells_;      // replicas of pipeline rank 0 first
    std::vector<Input> inputs_;
    std::vector<Rendezvous> met_;  // by meeting_of()
    std::size_t cells_left_ = 0;
    std::vector<std::size_t> gathers_left_;  // by pipeline rank: groups of the one under way
    std::size_t updates_left_ = 0;           // gathers of updated parameters
    std::size_t words_left_ = 0;
    Instant words_at_;  // all other gradients have arrived
    Instant updated_at_;
    bool updating_ = false;  // or about to end
    StepParts sums_;         // over all workers
};

}  // namespace ukemi::sim
