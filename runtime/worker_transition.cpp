// worker_transition.cpp — how a worker enters a group: connect, get the state, say what it has.
#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "base/input_error.hpp"
#include "kernels/checkpoint_file.hpp"
#include "kernels/encoded_exchange.hpp"
#include "kernels/replica_state.hpp"
#include "runtime/plan_text.hpp"
#include "runtime/worker_trainer.hpp"

namespace ukemi::runtime {
namespace {

std::chrono::milliseconds milliseconds_of(std::int64_t ns) {
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(ns));
}

std::int64_t ns_since(Moment begun) {
    return std::chrono::nanoseconds(Clock::now() - begun).count();
}

// The lowest rank that has the state; rank 0 if nobody has.
int source_of(const Transition& order) {
    for (std::size_t rank = 0; rank < order.holders.size(); ++rank) {
        if (order.holders[rank] != 0) return static_cast<int>(rank);
    }
    return 0;
}

bool all_hold(const Transition& order) {
    for (const std::uint8_t holds : order.holders) {
        if (holds == 0) return false;
    }
    return true;
}

// In a few words, for people; nothing where there is no device.
std::string exchange_text(const kernels::DeviceExchange& exchange) {
    if (exchange.on_devices()) return "nccl";
    return exchange.why().empty() ? std::string() : fmt::format("sockets: {}", exchange.why());
}

bool is_consistent(const Transition& order) {
    return !order.members.empty() && order.holders.size() == order.members.size() &&
           order.rank < order.members.size();
}

}  // namespace

EpochPeers::EpochPeers(WorkerLink& to, const kernels::GroupSettings& settings,
                       std::uint64_t attempt, kernels::DeviceLink devices,
                       std::vector<std::string> sums)
    : link(to),
      epoch(settings.membership.epoch),
      sockets(settings),
      exchange(sockets, std::move(devices), std::move(sums), settings.deadline),
      watched(exchange, to) {
    link.watch(exchange, epoch, attempt);
}

EpochPeers::~EpochPeers() { link.forget(exchange); }

void WorkerTrainer::refuse(const std::string& why) {
    link_.send(NotEntered{next_->order.attempt, why, false, -1});
    next_.reset();
}

void WorkerTrainer::refuse_for_peers(const char* what, kernels::Outcome outcome) {
    const auto name = kernels::outcome_names()[static_cast<std::size_t>(outcome)];
    // A worker that was told to stop suspects no peer.
    const int suspect =
        outcome == kernels::Outcome::aborted ? -1 : next_->peers->exchange.suspect();
    link_.send(NotEntered{next_->order.attempt, fmt::format("{}: {}", what, name), true, suspect});
    next_.reset();
}

void WorkerTrainer::begin(const Transition& order) {
    next_.reset();
    next_.emplace();
    next_->order = order;
    if (!is_consistent(order)) return refuse("an order that contradicts itself");
    try {
        next_->plan = plan_from_text(order.plan);
    } catch (const InputError& problem) {
        return refuse(problem.what());
    }
    next_->plan_digest = plan_digest(next_->plan);
    if (next_->plan_digest != order.plan_digest) {
        return refuse(fmt::format("it reads a Plan with digest {:016x}, expected {:016x}",
                                  next_->plan_digest, order.plan_digest));
    }
    const int size = static_cast<int>(order.members.size());
    const std::string refusal = kernels::training_refusal(next_->plan, size);
    if (!refusal.empty()) return refuse(refusal);
    if (order.holders[order.rank] != 0 && !replica_) return refuse("it has no state");
    if (!order.group_changed) {
        if (!group_ || group_->failed || group_->peers->epoch != order.epoch) {
            return refuse(fmt::format("it is not a member of epoch {}", order.epoch));
        }
        next_->peers = group_->peers;
        return enter();
    }
    link_.at(WorkerPhase::connecting);
    const Moment begun = Clock::now();
    next_->peers = make_peers(order, size);
    next_->rendezvous_ns = ns_since(begun);
    const auto address = next_->peers->sockets.address();
    OwnAddress own{order.attempt, {}};
    for (const std::byte byte : address) own.address.push_back(std::to_integer<std::uint8_t>(byte));
    link_.send(own);
}

std::shared_ptr<EpochPeers> WorkerTrainer::make_peers(const Transition& order, int size) {
    kernels::GroupSettings settings;
    settings.membership = {order.epoch, static_cast<int>(order.rank), size};
    settings.deadline = milliseconds_of(welcome_.collective_ns);
    settings.listen = link_.local_host();
    settings.encryption = encryption_;
    settings.secret.assign(order.group_secret.begin(), order.group_secret.end());
    std::vector<std::string> sums;
    for (const kernels::Bucket& bucket :
         kernels::make_buckets(model_->tensors(), spec_.step.bucket_bytes)) {
        sums.push_back(bucket.name);
    }
    return std::make_shared<EpochPeers>(link_, settings, order.attempt, devices_, std::move(sums));
}

void WorkerTrainer::connect(const Peers& peers) {
    if (!next_ || next_->order.attempt != peers.attempt) return;
    std::vector<std::vector<std::byte>> addresses;
    for (const ByteString& bytes : peers.addresses) {
        const auto view = std::as_bytes(std::span(bytes));
        addresses.emplace_back(view.begin(), view.end());
    }
    if (addresses.size() != next_->order.members.size()) return refuse("not every rank's address");
    const Moment begun = Clock::now();
    kernels::Outcome outcome = next_->peers->sockets.connect(addresses);
    if (outcome == kernels::Outcome::ok) {
        const bool stands = group_ && !group_->failed;
        outcome = next_->peers->exchange.connect(stands ? &group_->peers->exchange : nullptr);
    }
    next_->rendezvous_ns += ns_since(begun);
    if (outcome != kernels::Outcome::ok) return refuse_for_peers("connecting", outcome);
    enter();
}

// Gets or gives the state, and tells the coordinator what it would go on from.
void WorkerTrainer::enter() {
    NextGroup& next = *next_;
    const Moment begun = Clock::now();
    link_.at(WorkerPhase::receiving_state);
    next.step = step_;
    next.position = position_;
    const bool holds = next.order.holders[next.order.rank] != 0;
    if (holds && next.order.step == step_ - 1 && replica_->can_undo()) {
        next.replica = *replica_;
        next.replica->undo();
        next.step = step_ - 1;
        next.position = position_before_;
    }
    if (!all_hold(next.order)) {
        kernels::Outcome outcome = kernels::Outcome::ok;
        try {
            outcome = exchange_state();
        } catch (const InputError& problem) {
            return refuse(problem.what());
        }
        if (outcome != kernels::Outcome::ok)
            return refuse_for_peers("the state's transfer", outcome);
    }
    Entered entered;
    entered.attempt = next.order.attempt;
    entered.plan_version = index_of(next.plan.version);
    entered.plan_digest = next.plan_digest;
    entered.replica_digest = next_replica().digest();
    entered.replicas_equal = next_replica().synchronisation() == policies::Synchronisation::s_sgd ||
                             next_replica().is_at_central();
    entered.step = next.step;
    entered.position = next.position;
    entered.rendezvous_ns = next.rendezvous_ns;
    entered.state_transfer_ns = ns_since(begun);
    entered.exchange = exchange_text(next.peers->exchange);
    link_.send(entered);
}

// From the job's beginning or its checkpoint.
void WorkerTrainer::make_first_state(StateHeader& header) {
    next_->replica.emplace(model_->initial_weights(spec_.seed), spec_.optimiser);
    if (next_->order.checkpoint.empty()) return;
    link_.at(WorkerPhase::reading_checkpoint);
    const kernels::Checkpoint checkpoint = kernels::read_checkpoint(next_->order.checkpoint);
    if (checkpoint.job != kernels::job_identity(spec_)) {
        throw InputError(next_->order.checkpoint, "", "a checkpoint of another job");
    }
    kernels::expect_trainable_state(checkpoint.state, model_->parameter_count(),
                                    next_->order.checkpoint);
    next_->replica->restore(checkpoint.state);
    header.step = checkpoint.step;
    header.position = checkpoint.position;
    link_.at(WorkerPhase::receiving_state);
}

kernels::Outcome WorkerTrainer::exchange_state() {
    NextGroup& next = *next_;
    kernels::Communicator& peers = next.peers->watched;
    const int source = source_of(next.order);
    const bool gives = static_cast<int>(next.order.rank) == source;
    const bool receives = next.order.holders[next.order.rank] == 0 && !gives;
    StateHeader header{next.step, next.position, 0};
    std::vector<std::byte> state;
    if (gives) {
        if (next.order.holders[next.order.rank] == 0) {
            header = StateHeader();
            make_first_state(header);
        }
        state = next_replica().state();
        header.bytes = state.size();
    }
    const kernels::Outcome told =
        peers.broadcast("state/header", std::as_writable_bytes(std::span(&header, 1)), source);
    if (told != kernels::Outcome::ok) return told;
    // What a replica of this model can be, at most: four arrays, a codec's memory and a
    // header.
    const std::size_t state_max = 5 * sizeof(float) * model_->parameter_count() + 4096;
    if (header.bytes > state_max) throw InputError("state", "", "larger than this model's");
    state.resize(header.bytes);
    const kernels::Outcome got = peers.broadcast("state", state, source);
    if (got != kernels::Outcome::ok) return got;
    if (receives) {
        next.replica.emplace(model_->initial_weights(spec_.seed), spec_.optimiser);
        next.replica->restore(state);
    }
    next.step = header.step;
    next.position = header.position;
    return kernels::Outcome::ok;
}

void WorkerTrainer::commit(const Commit& order) {
    if (!next_ || next_->order.attempt != order.attempt) return;
    NextGroup next = std::move(*next_);
    next_.reset();
    if (next.replica) {
        replica_ = std::move(next.replica);
        past_.clear();
    }
    step_ = next.step;
    position_ = next.position;
    epoch_ = next.order.epoch;
    TrainingGroup group;
    if (next.order.group_changed) {
        link_.committed(next.peers->exchange);
        kernels::StepSettings settings = spec_.step;
        settings.link_steps = welcome_.link_steps;
        group.training = std::make_unique<kernels::TrainingStep>(
            *model_, data_, next.peers->watched, settings, learners_.get());
    } else {
        group.training = std::move(group_->training);
    }
    group.peers = std::move(next.peers);
    group.plan = std::move(next.plan);
    group.plan_digest = next.plan_digest;
    group_.reset();  // its steps before its communicator, which an assignment would not do
    group_ = std::move(group);
    run_.epoch = 0;
}

}  // namespace ukemi::runtime
