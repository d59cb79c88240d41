// gradient_sender.hpp — sends the buckets of a set of replicas when the launch rule lets them go.
//
// A lane is a way to send: collectives that run at once (one for each tensor rank, say). A message
// goes over its buckets' lanes one after the other, and is decoded; buckets that travel together
// are one message on each lane. Workers decode one message at a time, after they have computed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/step/launch.hpp"
#include "sim/step/step_player.hpp"

namespace ukemi::sim {

using GradientLane = std::vector<PlacedCollective>;

class GradientSender {
public:
    // Buckets must outlive it; its tokens are `tokens` and the 2^32 - 1 that follow.
    GradientSender(StepHost& host, StepPlayer& owner, const LaunchRule& rule,
                   std::span<const GradientBucket> buckets, std::vector<GradientLane> lanes,
                   const LaunchPeers& peers, std::uint64_t tokens);

    void begin_step();
    void bucket_ready(std::uint32_t bucket, Instant now);
    // A token of its own came back.
    void woken(std::uint64_t token, Instant now);
    void arrived(std::uint64_t token, Instant now);
    bool all_arrived() const { return buckets_left_ == 0; }
    bool is_sending() const { return on_the_network_ > 0; }

private:
    struct Message {
        std::vector<std::uint32_t> buckets;
        std::vector<BucketLeg> legs;
        std::size_t leg = 0;
        std::size_t flights = 0;  // collectives of this leg that are on their way
        Duration decode;
        double copy_s_per_byte = 0;
        SentMessage note;
    };
    static constexpr std::uint64_t launcher_token = 0xffffffff;
    static constexpr std::uint64_t decoded_bit = 0x80000000;

    void go_on(Instant now);
    void start(BucketLauncher::Message launched, Instant now);
    void start_leg(std::uint32_t number, Instant now);
    void end(std::uint32_t number);
    Instant decoded_at(Instant now, Duration time);

    StepHost& host_;
    StepPlayer& owner_;
    LaunchRule rule_;
    BucketLauncher launcher_;
    std::span<const GradientBucket> buckets_;
    std::vector<GradientLane> lanes_;
    std::uint64_t tokens_;
    std::optional<Instant> launcher_at_;  // the newest moment planned for it
    std::size_t buckets_left_ = 0;
    std::map<std::uint32_t, Message> messages_;
    std::uint32_t message_count_ = 0;
    std::size_t on_the_network_ = 0;  // messages
    Instant decoder_free_;
    Instant copier_free_;  // the engine that copies from the GPU; the one back keeps pace with it
};

// Only of those who coordinate, more is known than how many they are.
LaunchPeers launch_peers(ClusterNetwork& network, const LaunchRule& rule,
                         std::span<const DeviceId> workers);

// Of a message with these buckets: legs of equal place and lane are one.
std::vector<BucketLeg> legs_of(std::span<const GradientBucket> buckets,
                               std::span<const std::uint32_t> chosen);

}  // namespace ukemi::sim
