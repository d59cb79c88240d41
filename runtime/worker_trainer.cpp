// worker_trainer.cpp — steps, holds, checkpoints; transitions are in worker_transition.cpp.
#include "runtime/worker_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/input_error.hpp"
#include "base/socket_address.hpp"
#include "kernels/checkpoint_file.hpp"

namespace ukemi::runtime {
namespace {

// All that fits into a frame with room to spare.
std::size_t past_steps_kept(std::size_t members) {
    return frame_bytes_max / 2 / (sizeof(PastStep) + members * sizeof(kernels::StepWord));
}

// It listens where the group does, and nowhere else; it looks once, when it first connects. Another
// interface is the user's choice.
void keep_nccl_to(const SocketAddress& here) {
    const std::string interface = here.network_interface();
    if (!interface.empty()) ::setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), 0);
}

}  // namespace

WorkerTrainer::WorkerTrainer(WorkerLink& link, const Welcome& welcome,
                             const kernels::ComputeBackend& backend, std::uint32_t slot,
                             kernels::Encryption encryption)
    : link_(link),
      welcome_(welcome),
      spec_(kernels::training_spec_from(welcome.training)),
      backend_(backend),
      slot_(slot),
      encryption_(encryption) {}

void WorkerTrainer::load() {
    link_.at(WorkerPhase::loading);
    if (!spec_.script.empty()) {
        throw std::runtime_error("a script is run by PyTorch's workers: `ukemi train --script`");
    }
    const std::string refusal = backend_.refusal();
    if (!refusal.empty()) {
        throw std::runtime_error(fmt::format("{}: {}", backend_.name(), refusal));
    }
    data_ = kernels::load_data(spec_.data);
    model_ = backend_.model(spec_.model, data_, slot_);
    devices_ = backend_.device_link(slot_);
    const auto here = SocketAddress::of_host(link_.local_host(), 0);
    if (devices_.calls && !here->is_loopback() && encryption_ != kernels::Encryption::never) {
        devices_.calls.reset();
        devices_.why =
            "several hosts: what NCCL says is neither secret nor signed, and the network between "
            "them is not said to be trusted (--trusted-network)";
    }
    if (devices_.calls) keep_nccl_to(*here);
    learners_ = std::make_unique<kernels::LearnerGroup>(
        data_, backend_.learners(spec_.model, *model_, data_, slot_));
    link_.at(WorkerPhase::idle);
    link_.send(Ready{model_->parameter_count(), data_.count});
}

void WorkerTrainer::run() {
    load();
    while (const auto order = link_.next_order()) {
        if (!obey(*order)) break;
        train();
    }
    next_.reset();
    group_.reset();
}

bool WorkerTrainer::obey(const Message& order) {
    if (std::holds_alternative<Leave>(order)) return false;
    if (const auto* transition = std::get_if<Transition>(&order)) begin(*transition);
    if (const auto* peers = std::get_if<Peers>(&order)) connect(*peers);
    if (const auto* done = std::get_if<Commit>(&order)) commit(*done);
    if (const auto* discard = std::get_if<Discard>(&order)) {
        if (next_ && next_->order.attempt == discard->attempt) next_.reset();
    }
    if (const auto* abandoned = std::get_if<Abandon>(&order)) abandon(*abandoned);
    if (const auto* go = std::get_if<Run>(&order)) start(*go);
    if (const auto* write = std::get_if<Save>(&order)) save(*write);
    stand();
    return true;
}

void WorkerTrainer::stand() {
    if (next_) return;
    link_.at(group_ ? WorkerPhase::standing : WorkerPhase::idle, group_ ? step_ : 0);
}

void WorkerTrainer::start(const Run& order) {
    if (!group_ || group_->peers->epoch != order.epoch) return;
    run_ = order;
}

// Steps until the limit, a hold, a failure, or an order that is not merely to run further.
void WorkerTrainer::train() {
    while (group_ && !group_->failed && run_.epoch == group_->peers->epoch && !link_.over()) {
        if (link_.has_order()) return;  // the caller comes back
        const bool held = step_once();
        if (!held) continue;
        link_.at(WorkerPhase::standing, step_);
        link_.send(Standing{run_.epoch, run_.order, step_});
        run_.epoch = 0;
    }
}

// True: it stands now.
bool WorkerTrainer::step_once() {
    if (step_ >= run_.limit) return true;
    TrainingGroup& group = *group_;
    link_.at(WorkerPhase::computing, step_);
    link_.hang_if_told();
    const std::uint32_t seen = link_.hold_seen();
    const std::uint32_t wants = seen > run_.holds_done ? seen : 0;
    kernels::StepResult result =
        group.training->run(*replica_, group.plan, group.plan_digest, step_, position_, wants);
    if (result.outcome != kernels::Outcome::ok) {
        group.failed = true;
        link_.send(StepFailed{run_.epoch, step_, result.outcome, result.suspect,
                              result.plan_disagreement, index_of(group.plan.version),
                              group.plan_digest});
        return false;
    }
    position_before_ = position_;
    position_ += result.report.samples;
    const bool held = result.report.hold != 0;
    StepFinished finished{run_.epoch, step_, position_, std::nullopt};
    if (group.peers->sockets.membership().rank == 0) finished.report = result.report;
    const std::size_t kept = past_steps_kept(result.report.words.size());
    past_.push_back({step_, position_, std::move(result.report)});
    while (past_.size() > kept) past_.pop_front();
    ++step_;
    link_.send(finished);
    link_.wait_for_room();
    return held;
}

void WorkerTrainer::abandon(const Abandon& order) {
    const bool had = group_ && group_->peers->epoch <= order.epoch;
    Status status;
    status.inquiry = order.inquiry;
    status.has_state = replica_.has_value();
    status.step = step_;
    status.position = position_;
    status.can_undo = replica_ && replica_->can_undo();
    status.replica_digest = replica_ ? replica_->digest() : 0;
    status.epoch = epoch_;
    for (const PastStep& step : past_) {
        if (step.step >= order.past_from && step.step < step_) status.past.push_back(step);
    }
    link_.send(status);
    // After the answer: taking leave of peers that are gone takes its time.
    if (had) group_.reset();
    run_.epoch = 0;
}

void WorkerTrainer::save(const Save& order) {
    if (!replica_) {
        link_.send(NotSaved{order.number, "it has no state"});
        return;
    }
    link_.at(WorkerPhase::saving, step_);
    const auto begun = Clock::now();
    try {
        kernels::Checkpoint checkpoint;
        checkpoint.job = kernels::job_identity(spec_);
        checkpoint.step = step_;
        checkpoint.position = position_;
        checkpoint.plan_version = group_ ? index_of(group_->plan.version) : 0;
        checkpoint.state = replica_->state();
        const std::int64_t bytes = kernels::write_checkpoint(order.file, checkpoint);
        const std::chrono::nanoseconds time = Clock::now() - begun;
        link_.send(Saved{order.number, step_, position_, bytes, time.count()});
    } catch (const std::exception& problem) {
        link_.send(NotSaved{order.number, problem.what()});
    }
}

}  // namespace ukemi::runtime
