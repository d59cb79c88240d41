// themis.cpp — GPUs are leased, and what is free is auctioned among the jobs that sharing has
// delayed most (Themis: Mahajan et al., NSDI'20).
//
// ρ of a job is the time from its arrival to its end over the time that it would take on its part
// of the cluster: alone × max(1, GPUs that it asks for × N / GPUs of the cluster), N the mean
// number of jobs since it came. Whenever GPUs are free or their leases end, the part 1 − fairness
// of those who want GPUs whose ρ is largest (as if they had all that they ask for from now on) bid
// for them: a bid says what ρ would be with each number of GPUs, kept to the end, packed on as few
// machines as can be. The auction is a partial allocation (Cole, Gkatzelis and Goel, EC'13): first
// the numbers that make the product of all 1 / ρ largest; then each bidder keeps, in whole GPUs,
// only the part of its number by which the others' product is smaller for its taking part. That is
// its hidden payment, for which it pays to bid the truth. What is left goes to those who did not
// bid, a GPU each in the order of ρ until they have what they ask for; what they do not want, to
// the bidders, too.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/exact_math.hpp"
#include "schedulers/multiple_choice.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

constexpr double log_units = 1e9;  // costs are logarithms of ρ in these

class Themis final : public Scheduler {
public:
    Themis(Duration lease, double fairness) : lease_(lease), fairness_(fairness) {}
    std::string_view name() const override { return "themis"; }

    void begin(const ClusterFacts& cluster) override {
        gpus_ = cluster.gpus;
        each_ = cluster.groups.front().gpus_per_machine;
    }
    void cluster_changed(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void completed(JobId job) override {
        std::erase_if(jobs_, [&](const Bidder& one) { return one.request.id == job; });
    }
    void arrived(const JobRequest& request) override { jobs_.emplace_back().request = request; }

    void decide(Instant now, const JobForecasts& forecasts, Allocation& allocation) override {
        count_jobs(now);
        end_leases(now);
        std::vector<Bidder*> order = by_delay(now, forecasts);
        std::int32_t offered = gpus_;
        for (const Bidder& job : jobs_) offered -= job.gpus();
        if (offered > 0 && !order.empty()) {
            const double part = (1 - fairness_) * static_cast<double>(order.size());
            constexpr double slack = 1e-9;  // against products that are not quite whole
            const auto bidders =
                std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(part - slack)));
            std::vector<std::int32_t> won(order.size());
            auction(std::span(order).first(bidders), now, forecasts, offered, won);
            offered -= std::reduce(won.begin(), won.end());
            give_left_over(order, bidders, order.size(), forecasts, offered, won);
            give_left_over(order, 0, bidders, forecasts, offered, won);
            for (std::size_t i = 0; i < order.size(); ++i) {
                if (won[i] > 0) order[i]->leases.push_back({won[i], now + lease_});
            }
        }
        answer(allocation);
    }

private:
    struct Lease {
        std::int32_t gpus = 0;
        Instant end;
    };
    struct Bidder {
        JobRequest request;
        double alone_s = 0;   // on all GPUs that it asks for; 0: not asked yet
        double jobs_x_s = 0;  // jobs there were, times time, since it came
        double rho = 0;       // as if it had all that it asks for from now on
        std::vector<Lease> leases;
        std::int32_t gpus() const {
            std::int32_t sum = 0;
            for (const Lease& lease : leases) sum += lease.gpus;
            return sum;
        }
    };

    void count_jobs(Instant now) {
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            Bidder& job = jobs_[i];
            const bool is_new = job.request.arrival > counted_at_ || job.alone_s == 0;
            const Instant since = is_new ? job.request.arrival : counted_at_;
            const std::size_t jobs = is_new ? jobs_.size() : counted_;
            job.jobs_x_s += to_seconds(now - since) * static_cast<double>(jobs);
        }
        counted_ = jobs_.size();
        counted_at_ = now;
    }
    // All of them, where machines went that they were of.
    void end_leases(Instant now) {
        std::int32_t leased = 0;
        for (Bidder& job : jobs_) {
            std::erase_if(job.leases, [&](const Lease& lease) { return lease.end <= now; });
            leased += job.gpus();
        }
        if (leased <= gpus_) return;
        for (Bidder& job : jobs_) job.leases.clear();
    }

    double pace(const Bidder& job, std::int32_t gpus, const JobForecasts& forecasts) const {
        const std::int32_t machines = (gpus + each_ - 1) / each_;
        return forecasts.pace(job.request.id, 0, gpus, machines);
    }
    double rho(const Bidder& job, double pace, Instant now, const JobForecasts& forecasts) const {
        const double age_s = to_seconds(now - job.request.arrival);
        const double mean_jobs =
            age_s > 0 ? job.jobs_x_s / age_s : static_cast<double>(jobs_.size());
        const double parts = job.request.gpus * mean_jobs / std::max(1, gpus_);
        return (age_s + forecasts.pace_left(job.request.id) / pace) /
               (job.alone_s * std::max(1.0, parts));
    }
    // Those who want GPUs, the most delayed first.
    std::vector<Bidder*> by_delay(Instant now, const JobForecasts& forecasts) {
        std::vector<Bidder*> order;
        for (Bidder& job : jobs_) {
            const double best = pace(job, job.request.gpus, forecasts);
            if (job.alone_s == 0) job.alone_s = forecasts.pace_left(job.request.id) / best;
            job.rho = rho(job, best, now, forecasts);
            if (job.gpus() < job.request.gpus) order.push_back(&job);
        }
        std::ranges::stable_sort(order, [](const Bidder* a, const Bidder* b) {
            if (a->rho != b->rho) return a->rho > b->rho;
            if (a->request.arrival != b->request.arrival)
                return a->request.arrival < b->request.arrival;
            return a->request.id < b->request.id;
        });
        return order;
    }

    JobChoice bid(const Bidder& job, Instant now, const JobForecasts& forecasts,
                  std::int32_t offered) const {
        const auto log_rho = [&](double pace) {
            return round_nearest(log_units * exact::log(rho(job, pace, now, forecasts)));
        };
        // Without any it would never end: taken as a thousandth of what one GPU does.
        constexpr double next_to_nothing = 1e-3;
        const std::int32_t kept = job.gpus();
        JobChoice choice;
        choice.cost_of_none = log_rho(kept > 0 ? pace(job, kept, forecasts)
                                               : next_to_nothing * pace(job, 1, forecasts));
        const std::int32_t most = std::min({offered, job.request.gpus - kept, options_most});
        for (std::int32_t more = 1; more <= most; ++more) {
            const double with = pace(job, kept + more, forecasts);
            if (with > 0) choice.options.push_back({0, more, log_rho(with)});
        }
        return choice;
    }
    void auction(std::span<Bidder* const> bidders, Instant now, const JobForecasts& forecasts,
                 std::int32_t offered, std::vector<std::int32_t>& won) const {
        std::vector<JobChoice> bids;
        for (const Bidder* const job : bidders) bids.push_back(bid(*job, now, forecasts, offered));
        const std::optional<Choices> best = cheapest_choices({offered}, bids);
        INVARIANT(best);  // everybody may have none
        for (std::size_t i = 0; i < bids.size(); ++i) {
            if (!best->chosen[i]) continue;
            const ChoiceOption& share = bids[i].options[*best->chosen[i]];
            std::vector<JobChoice> others = bids;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            const std::int64_t lost =
                best->cost - share.cost - cheapest_choices({offered}, others)->cost;
            const double kept = exact::exp(-static_cast<double>(lost) / log_units);
            constexpr double slack = 1e-6;  // logarithms are rounded
            won[i] = static_cast<std::int32_t>(kept * share.gpus + slack);
        }
    }
    // A GPU each, as often as there are some and somebody of these wants one.
    void give_left_over(std::span<Bidder* const> order, std::size_t from, std::size_t to,
                        const JobForecasts& forecasts, std::int32_t& left,
                        std::vector<std::int32_t>& won) const {
        for (bool somebody = true; somebody && left > 0;) {
            somebody = false;
            for (std::size_t i = from; i < to && left > 0; ++i) {
                const std::int32_t one_more = order[i]->gpus() + won[i] + 1;
                if (one_more > order[i]->request.gpus) continue;
                if (pace(*order[i], one_more, forecasts) <= 0) continue;
                ++won[i];
                --left;
                somebody = true;
            }
        }
    }
    void answer(Allocation& allocation) const {
        for (const Bidder& job : jobs_) {
            const std::int32_t gpus = job.gpus();
            if (gpus > 0) allocation.shares.push_back({job.request.id, gpus});
            for (const Lease& lease : job.leases) {
                allocation.ask_again = std::min(allocation.ask_again, lease.end);
            }
        }
        std::ranges::stable_sort(allocation.shares, std::greater<>{}, &GpuShare::parts);
    }

    static constexpr std::int32_t options_most = 254;  // of a JobChoice
    Duration lease_;
    double fairness_;
    std::int32_t gpus_ = 0;
    std::int32_t each_ = 1;  // of a machine
    std::vector<Bidder> jobs_;
    std::size_t counted_ = 0;  // jobs at the last decision
    Instant counted_at_;
};

}  // namespace

std::unique_ptr<Scheduler> make_themis(ConfigReader& parameters) {
    const Duration lease = parameters.duration("lease", minutes(20));
    if (lease <= Duration{}) parameters.fail("lease", "expected more than zero");
    return std::make_unique<Themis>(lease, parameters.number("fairness", 0, 1, 0.8));
}

}  // namespace ukemi::schedulers
