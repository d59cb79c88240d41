// averaging.hpp — how replicas of a model are kept together: the published rules on plain vectors.
//
// What live workers do is in replica.hpp and training_step.hpp; both use the arithmetic of
// element_rules.hpp, so one element gets the same bits here, there and on a GPU. Sums over replicas
// run in the order given. Vectors of one call have one length. Nothing here sends anything.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/quantity.hpp"
#include "base/rng.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels {

// One step of the local optimiser alone.
void local_step(const MomentumRule& rule, std::span<const float> gradient, std::span<float> weights,
                std::span<float> velocity);

// The element-wise mean; at least one replica.
void mean_of_replicas(std::span<const std::span<const float>> replicas, std::span<float> mean);

// ---- with a central model: Crossbow and elastic averaging -------------------------------------

// Crossbow's synchronous model averaging (Koliousis et al., VLDB'19, Alg. 1), one learner: c =
// α(w − z) with the weights before the step, w ← w − lr v − c; c is added to `correction_sum`. All
// learners of a GPU add to one sum: that is what GPUs exchange, however many learners they have.
void averaged_learner_step(const MomentumRule& rule, float pull, std::span<const float> central,
                           std::span<const float> gradient, std::span<float> weights,
                           std::span<float> velocity, std::span<float> correction_sum);

// The average model z and the one before. step: z ← z + Σ c + μ(z − z_prev). restart, when the
// learning rate drops: its momentum ends, and every learner begins anew from z.
class CentralModel {
public:
    explicit CentralModel(std::vector<float> weights);
    CentralModel(std::vector<float> weights, std::vector<float> previous);
    std::span<const float> weights() const { return now_; }
    void step(std::span<const float> correction_sum, float momentum);
    void restart();
    void restart_learner(std::span<float> weights, std::span<float> velocity) const;

private:
    std::vector<float> now_;
    std::vector<float> previous_;
};

// Synchronous elastic averaging (Zhang, Choromanska and LeCun, arXiv:1412.6651, eq. 5 and 6) is
// averaged_learner_step with CentralModel::step and no central momentum, at every τ-th step; its β
// is the number of learners × α.
inline constexpr float elastic_beta_usual = 0.9F;  // β there, so α = 0.9 ÷ learners

// Whether this step (from 0) ends with an exchange: of elastic averaging every τ, of local SGD
// (Stich, arXiv:1805.09767) every H steps, there of mean_of_replicas.
constexpr bool exchanges_after(std::int64_t step, std::int64_t period) {
    return (step + 1) % period == 0;
}

// ---- without one: KungFu's optimisers ----------------------------------------------------------

// KungFu's SMA (SynchronousAveragingOptimizer): w ← (1 − α)w + α mean(w), then the local step.
void pull_to_mean(float pull, std::span<const float> mean, std::span<float> weights);
inline constexpr float kungfu_averaging_rate = 0.1F;

// AdaSGD: KungFu's SMA before `change_step`, S-SGD from it on; at the switch everybody first takes
// rank 0's model.
enum class AdaSgdStep : std::uint8_t { averaging, take_rank_0, s_sgd };
constexpr AdaSgdStep ada_sgd_at(std::int64_t step, std::int64_t change_step) {
    if (step < change_step) return AdaSgdStep::averaging;
    return step == change_step && step > 0 ? AdaSgdStep::take_rank_0 : AdaSgdStep::s_sgd;
}

// Pair averaging (AD-PSGD, Lian et al., arXiv:1710.06952, as KungFu does it): w ← (w + w_peer) ÷ 2
// with the model that the peer saved last; the local step; save. Without a round of pairs (which is
// peer_of in training_rules.hpp) each worker picks its own peer:
void pair_with(std::span<const float> peer, std::span<float> weights);
// KungFu's choice: one of all n; a rank that draws itself takes the next one, which therefore is
// taken with a chance of 2/n and the others with 1/n. At least two workers.
int kungfu_peer(RandomStream& random, int rank, int size);
int uniform_peer(RandomStream& random, int rank, int size);  // 1/(n − 1) each

// ---- parameter servers -------------------------------------------------------------------------

inline constexpr std::int64_t staleness_unbounded = std::numeric_limits<std::int64_t>::max();

// Weights that workers pull and push gradients to, one at a time: w ← w − η g.
// `clock_lead_max` bounds by how many steps a worker may be ahead of the slowest
// (stale-synchronous, Ho et al., NIPS'13); unbounded is asynchronous SGD, 0 lets nobody begin a
// step before all ended the last. With `by_staleness` η is divided by the staleness, if that is
// above 1 (Zhang et al., arXiv:1511.05950).
struct ServerSettings {
    std::int64_t clock_lead_max = staleness_unbounded;
    bool by_staleness = false;
};
class ParameterServer {
public:
    ParameterServer(std::vector<float> weights, int workers, ServerSettings settings);

    std::span<const float> weights() const { return weights_; }
    std::int64_t updates() const { return updates_; }
    std::int64_t clock(int worker) const;  // its finished steps
    bool may_pull(int worker) const;       // else it waits for the slowest
    void pull(int worker, std::span<float> weights);
    // Returns the staleness: updates by others between this worker's pull and its push.
    std::int64_t push(int worker, std::span<const float> gradient, float rate);
    void leave(int worker);        // nobody waits for it any more
    std::uint64_t digest() const;  // of all but the weights

private:
    struct Worker {
        std::int64_t clock = 0;
        std::int64_t pulled_at = 0;  // updates then
        bool pulled = false;
        bool here = true;
    };
    std::size_t index(int worker) const;

    std::vector<float> weights_;
    std::vector<Worker> workers_;
    ServerSettings settings_;
    std::int64_t updates_ = 0;
};

// Backup workers (Chen et al., arXiv:1604.00981): the gradients of the first `needed` to finish
// count, the rest is dropped. Ranks in ascending order; of equal times the lower rank is first.
struct FirstFinished {
    std::vector<int> ranks;
    Duration step;  // until the last of them
};
FirstFinished first_finished(std::span<const Duration> times, int needed);

}  // namespace ukemi::kernels
