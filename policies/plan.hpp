// plan.hpp — everything about a training job that may be adapted, as one value with a version.
//
// A world commits a Plan whole, at a step boundary, on every worker or on none. Nothing may cache
// an old Plan: code that acts on one checks its version. What is bought is a list of lines, so that
// a mixed or spread fleet is one Plan. Enumerator names are data: they appear in results.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"

namespace ukemi::policies {

enum class Market : std::uint8_t { none, spot, on_demand };  // none: hold nothing for now

enum class Synchronisation : std::uint8_t {
    s_sgd,
    synchronous_averaging,
    elastic_averaging,
    pair_averaging,
    local_sgd,
    stale_parameter_server,
};

enum class Collective : std::uint8_t {
    automatic,
    ring,
    binary_tree,
    double_binary_tree,
    halving_doubling,
    star,
    clique,
    binary_tree_star,
    multi_binary_tree_star,
    hierarchical,
    parameter_server,
};

// What workers send of a gradient (kernels/codec.hpp): codec_table.def.
enum class Codec : std::uint8_t {
#define CODEC(name, number, ...) name = (number),
#include "policies/codec_table.def"
#undef CODEC
};
inline constexpr std::size_t codec_count = 0
#define CODEC(...) +1
#include "policies/codec_table.def"
#undef CODEC
    ;

struct FleetLine {
    ZoneId zone{};
    std::uint16_t instance_type = 0;  // index into the scenario's list
    Market market = Market::spot;
    std::int32_t count = 0;
    Price bid;  // zero: the provider's default, the on-demand price
    friend bool operator==(const FleetLine&, const FleetLine&) = default;
};

struct Layout {  // workers = data × pipeline × tensor
    std::int32_t data = 1;
    std::int32_t pipeline = 1;
    std::int32_t tensor = 1;
    friend bool operator==(const Layout&, const Layout&) = default;
};

inline constexpr Duration never_checkpoint = Duration::max();

struct Plan {
    PlanVersion version{};
    std::vector<FleetLine> fleet;  // sorted by (zone, instance type, market); a line each
    std::int32_t workers_max = 1;  // machines that train together, at most
    std::int32_t learners_per_gpu = 1;
    std::int64_t batch_per_learner = 1;
    std::int64_t global_batch = 0;  // > 0: fixed, split over the workers; 0: follows the workers
    std::int32_t accumulation = 1;
    double learning_rate = 0;
    Synchronisation synchronisation = Synchronisation::s_sgd;
    Collective collective = Collective::automatic;
    Codec codec = Codec::none;
    double codec_level = 0;  // rank, share or bits, as the codec defines it
    Layout layout;
    Duration checkpoint_interval = never_checkpoint;
    bool checkpoint_on_notice = false;
    // Machines to be given back as soon as others are there in their places; ascending. Those that
    // are gone already say nothing.
    std::vector<InstanceId> replaced;
    // The tree over hosts that carries the collective in its own way's place: the parent of each,
    // numbered as Observation::links has them; host 0 is the root, and its own. Empty: no tree. A
    // group of another number of hosts goes by the collective.
    std::vector<std::int32_t> tree;

    friend bool operator==(const Plan&, const Plan&) = default;
};

// Samples that one step of `workers` machines uses under this Plan.
std::int64_t samples_per_step(const Plan& plan, std::int32_t workers);
// Instances the fleet asks for, whether or not the market is `none` at the moment.
std::int32_t fleet_count(const Plan& plan);
// Spot if any machine of it is spot; else the market of the first line, `none` for an empty fleet.
Market fleet_market(const Plan& plan);

// What can be turned. Fine enough that independent ideas combine: two policies of one job may not
// turn the same knob.
enum class Knob : std::uint8_t {
    zone,
    instance_type,
    market,
    count,
    bid,
    workers,
    learners_per_gpu,
    batch,
    accumulation,
    learning_rate,
    synchronisation,
    collective,
    codec,
    layout,
    checkpoint_interval,
    checkpoint_on_notice,
    machines,  // which of them, not how many
};
inline constexpr std::string_view knob_name_list[] = {"zone",
                                                      "instance_type",
                                                      "market",
                                                      "count",
                                                      "bid",
                                                      "workers",
                                                      "learners_per_gpu",
                                                      "batch",
                                                      "accumulation",
                                                      "learning_rate",
                                                      "synchronisation",
                                                      "collective",
                                                      "codec",
                                                      "layout",
                                                      "checkpoint_interval",
                                                      "checkpoint_on_notice",
                                                      "machines"};
inline constexpr std::size_t knob_count = std::size(knob_name_list);

class KnobSet {
public:
    constexpr KnobSet() = default;
    constexpr KnobSet(std::initializer_list<Knob> knobs) {
        for (const Knob knob : knobs) bits_ |= bit(knob);
    }
    constexpr bool has(Knob knob) const { return (bits_ & bit(knob)) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr bool includes(KnobSet other) const { return (bits_ & other.bits_) == other.bits_; }
    friend constexpr KnobSet operator|(KnobSet a, KnobSet b) { return of(a.bits_ | b.bits_); }
    friend constexpr KnobSet operator&(KnobSet a, KnobSet b) { return of(a.bits_ & b.bits_); }
    friend constexpr bool operator==(KnobSet, KnobSet) = default;

private:
    static constexpr std::uint32_t bit(Knob knob) { return 1U << static_cast<unsigned>(knob); }
    static constexpr KnobSet of(std::uint32_t bits) {
        KnobSet set;
        set.bits_ = bits;
        return set;
    }
    std::uint32_t bits_ = 0;
};

constexpr std::span<const std::string_view> knob_names() { return knob_name_list; }
std::span<const std::string_view> market_names();
std::span<const std::string_view> synchronisation_names();
std::span<const std::string_view> collective_names();
std::span<const std::string_view> codec_names();

inline std::string_view name_of(Knob knob) { return knob_names()[static_cast<std::size_t>(knob)]; }
std::string knob_list(KnobSet knobs, std::string_view between = ", ");  // their names
inline std::string_view name_of(Market market) {
    return market_names()[static_cast<std::size_t>(market)];
}

}  // namespace ukemi::policies
