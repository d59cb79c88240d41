#include "sim/jobs/controlled_work.hpp"

#include <algorithm>

#include "base/invariant.hpp"
#include "policies/policy.hpp"
#include "sim/job/world.hpp"
#include "sim/jobs/work_unit.hpp"

namespace ukemi::sim {

namespace {

constexpr ZoneId place{0};

void set_price(MarketData& market, Price price) {
    ZoneData& zone = market.zones.front();
    zone.spot_price = {{{Instant{}, price}}, zone.spot_price.end};
    zone.on_demand_price = price;
}

}  // namespace

ControlledWork::ControlledWork(const SharingJob& job, Instant now, Price price, bool keeps_log)
    : about_(job.controlled),
      gpus_(job.gpus),
      zero_(now),
      job_(about_->job),
      useful_(job_.instances_max),
      market_(about_->market),
      price_(price) {
    // It may be told of later than it came: in rounds.
    const Duration late = now - job.arrival;
    if (job_.deadline < Instant::never()) {
        const Duration left = std::max(job_.deadline.since_start() - late, nanoseconds(1));
        job_.deadline = Instant::at(left);
    }
    if (price > Price{}) set_price(market_, price);
    if (keeps_log && about_->make_log) log_ = about_->make_log();
}

ControlledWork::~ControlledWork() = default;

void ControlledWork::play(Instant now) {
    if (!begun_) {
        begun_ = true;
        WorldSetup setup;
        setup.market = &market_;
        setup.job = &job_;
        setup.policies = about_->make_policies();
        setup.seed = about_->seed;
        setup.places = places_told_ = places();
        setup.log = log_.get();
        world_ = std::make_unique<World>(std::move(setup));
        world_->begin();
    }
    go_on_until(now);
}

void ControlledWork::go_on_until(Instant now) {
    world_->play_until(own(now));
    played_ = now;
    see_machines();
    // What it leaves of what it was given shows what it can use, until it wants more than that.
    if (wanted() > useful_) useful_ = job_.instances_max;
    if (wanted() < places()) useful_ = wanted();
    if (!world_->is_over() || result_) return;
    result_ = world_->end();
    if (result_->finished) ended_at_ = zero_ + result_->duration;
}

// To where it is before anything that happens now.
void ControlledWork::catch_up(Instant now) {
    if (begun_ && now > zero_) go_on_until(now - nanoseconds(1));
}

// Machines that it asked for or gave back meanwhile take the first GPUs that nobody uses.
void ControlledWork::see_machines() {
    const auto machines = world_->machines();
    const auto is_there = [&](InstanceId id) {
        return std::ranges::any_of(machines, [&](const Instance& one) { return one.id == id; });
    };
    for (Slot& slot : slots_) slot.used = slot.used && is_there(slot.by);
    for (const Instance& one : machines) {
        const auto has_it = [&](const Slot& slot) { return slot.used && slot.by == one.id; };
        if (std::ranges::any_of(slots_, has_it)) continue;
        const auto is_free = [](const Slot& slot) { return !slot.used && !slot.leaving; };
        const auto slot = std::ranges::find_if(slots_, is_free);
        INVARIANT(slot != slots_.end());  // it was given no more than it has
        slot->used = true;
        slot->by = one.id;
    }
}

std::int32_t ControlledWork::places() const {
    return static_cast<std::int32_t>(std::ranges::count(slots_, false, &Slot::leaving));
}

void ControlledWork::tell_places(Instant now) {
    if (!begun_ || places_told_ == places()) return;
    places_told_ = places();
    world_->tell(own(now), CapacityTold{place, places_told_});
}

// Of those on a machine that are not leaving, the unused ones first, then the last.
void ControlledWork::give_up_slots(Instant now, std::int32_t machine, std::int32_t more) {
    const auto is_there = [&](const Slot& slot) {
        return slot.machine == machine && !slot.leaving;
    };
    for (; more > 0; --more) {
        auto goes = std::ranges::find_if(
            slots_, [&](const Slot& slot) { return is_there(slot) && !slot.used; });
        if (goes == slots_.end()) {
            const auto last = std::find_if(slots_.rbegin(), slots_.rend(), is_there);
            INVARIANT(last != slots_.rend());
            goes = last.base() - 1;
            world_->tell(own(now), InstanceRecalled{goes->by});
        }
        slots_.erase(goes);
    }
}

void ControlledWork::hold(Instant now, const HeldShare& held, bool) {
    catch_up(now);
    if (begun_ && world_->is_over()) return;
    const auto given_on = [&](std::int32_t machine) {
        const auto found = std::ranges::find(held.machines, machine, &GpusOnMachine::machine);
        return found == held.machines.end() ? 0 : found->gpus;
    };
    const auto had_on = [&](std::int32_t machine) {
        return static_cast<std::int32_t>(std::ranges::count_if(
            slots_, [&](const Slot& slot) { return slot.machine == machine && !slot.leaving; }));
    };
    // What becomes free for it is known before what is recalled, so that it asks for that at once.
    std::vector<std::pair<std::int32_t, std::int32_t>> fewer;
    for (const Slot& slot : slots_) {
        const std::int32_t more = had_on(slot.machine) - given_on(slot.machine);
        const bool known = std::ranges::count(fewer, slot.machine,
                                              &std::pair<std::int32_t, std::int32_t>::first) > 0;
        if (more > 0 && !known) fewer.emplace_back(slot.machine, more);
    }
    if (begun_ && places_told_ != held.share.parts) {
        places_told_ = static_cast<std::int32_t>(held.share.parts);
        world_->tell(own(now), CapacityTold{place, places_told_});
    }
    for (const auto& [machine, more] : fewer) give_up_slots(now, machine, more);
    for (const GpusOnMachine& some : held.machines) {
        for (std::int32_t more = some.gpus - had_on(some.machine); more > 0; --more) {
            slots_.push_back({some.machine});
        }
    }
    INVARIANT(places() == held.share.parts);
}

void ControlledWork::announced(Instant now, std::int32_t machine, Instant lost_at) {
    catch_up(now);
    if (begun_ && world_->is_over()) return;
    for (Slot& slot : slots_) slot.leaving |= slot.machine == machine;
    tell_places(now);
    for (const Slot& slot : slots_) {
        if (slot.machine != machine || !slot.used) continue;
        world_->tell(own(now), LossTold{slot.by, own(lost_at)});
    }
}

void ControlledWork::gone(std::int32_t machine) {
    std::erase_if(slots_,
                  [&](const Slot& slot) { return slot.leaving && slot.machine == machine; });
}

void ControlledWork::price_is(Instant now, Price price) {
    if (price == price_ || price == Price{}) return;
    price_ = price;
    if (!begun_) {
        set_price(market_, price);
    } else if (!world_->is_over()) {
        world_->tell(own(now), PriceTold{place, price});
    }
}

Instant ControlledWork::next_at() {
    const Instant next = world_->next_at();
    return next == Instant::never() ? next : zero_ + next.since_start();
}

bool ControlledWork::is_over() const { return begun_ && world_->is_over(); }

std::int32_t ControlledWork::wanted() const {
    const policies::Plan& plan = begun_ ? world_->plan() : job_.plan;
    const bool none = policies::fleet_market(plan) == policies::Market::none;
    return none ? 0 : policies::fleet_count(plan);
}

std::shared_ptr<const ControlledOutcome> ControlledWork::end(Int128 held, SpentTimes& spent) {
    INVARIANT(begun_);
    if (!result_) result_ = world_->end();
    auto outcome = std::make_shared<ControlledOutcome>();
    outcome->policies = about_->policies;
    outcome->result = std::move(*result_);
    const records::RunResult& result = outcome->result;
    Int128 used = 0;
    for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
        spent.by_cause[cause] = result.causes.time[cause].raw();
        used += spent.by_cause[cause];
    }
    INVARIANT(used <= held);
    spent.by_cause[static_cast<std::size_t>(records::Cause::idle)] += held - used;
    if (result.phases) {
        for (std::size_t phase = 0; phase < result.phases->size(); ++phase) {
            const bool trains_on =
                static_cast<policies::TransitionPhase>(phase) == policies::TransitionPhase::notice;
            if (trains_on) continue;
            spent.by_phase[phase] = (*result.phases)[phase].instance_time.raw();
        }
    } else {
        spent.by_phase[0] = spent.by_cause[static_cast<std::size_t>(records::Cause::transition)];
    }
    if (log_) outcome->decisions = log_->text();
    return outcome;
}

Instant ControlledWork::advance(Instant now) {
    play(now);
    return ended_at_ <= now ? ended_at_ : Instant::never();
}
void ControlledWork::step_takes(Instant, Duration, Duration) { INVARIANT(false); }
void ControlledWork::lose(Instant, bool) { INVARIANT(false); }  // it is told otherwise

Duration ControlledWork::time_on(std::int32_t gpus) const {
    const std::int32_t used = std::min(gpus, gpus_max());
    if (begun_) return world_->work_left(own(played_), used);
    const auto predictor =
        policies::make_predictor(job_.predictor, job_.guess_at_start(), about_->seed);
    return predictor->work_time(job_.samples_total, job_.plan, std::max(used, job_.workers_min));
}

std::int64_t ControlledWork::speed_on(std::int32_t gpus) const {
    if (gpus < job_.workers_min) return 0;
    const Duration asked = time_on(gpus_);
    const Duration there = time_on(gpus);
    if (asked <= Duration{} || there <= Duration{}) return millionths;
    return static_cast<std::int64_t>(static_cast<Int128>(asked.raw()) * millionths / there.raw());
}

Duration ControlledWork::remaining(Instant) const { return time_on(gpus_); }
Int128 ControlledWork::work_left(Instant now) const {
    return static_cast<Int128>(remaining(now).raw()) * work_unit;
}
Int128 ControlledWork::work_in(std::int32_t gpus, Duration time) const {
    return static_cast<Int128>(time.raw()) * work_unit * speed_on(gpus) / millionths;
}
std::int32_t ControlledWork::gpus_max() const {
    return std::clamp(useful_, std::max(job_.workers_min, 1), job_.instances_max);
}
// Fewer than it needs are as if it could be divided further: who grows one by one gets there.
double ControlledWork::step_s(std::int32_t gpus) const {
    const std::int32_t needed = std::max(gpus, job_.workers_min);
    const std::int64_t speed = std::max<std::int64_t>(speed_on(needed), 1);
    return millionths / static_cast<double>(speed) * needed / gpus;
}
double ControlledWork::steps_left(Instant now) const { return to_seconds(remaining(now)); }
double ControlledWork::pace(std::int32_t, std::int32_t gpus, std::int32_t) const {
    return static_cast<double>(speed_on(gpus)) / millionths;
}
bool ControlledWork::starting(Instant) const {
    return begun_ && world_->phase() == policies::JobPhase::transition;
}

}  // namespace ukemi::sim
