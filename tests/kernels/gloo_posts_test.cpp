#include "kernels/gloo_posts.hpp"

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

// Rank 0 of two that are not connected, so that whatever it starts fails.
struct Unconnected {
    explicit Unconnected(std::function<void(const GlooPost&)> failed) {
        gloo::transport::tcp::attr attributes("127.0.0.1");
        attributes.ai_family = AF_INET;
        device = std::dynamic_pointer_cast<gloo::transport::tcp::Device>(
            gloo::transport::tcp::CreateDevice(attributes));
        context = device->createContext(0, 2);
        context->createPair(1)->close();
        buffer = context->createUnboundBuffer(&byte, 1);
        posts.emplace(*device, std::move(failed));
    }
    GlooPost send(std::uint64_t slot) const { return {buffer.get(), 1, slot, true}; }

    std::optional<GlooPosts> posts;  // before the device
    char byte = 0;
    std::shared_ptr<gloo::transport::tcp::Device> device;
    std::shared_ptr<gloo::transport::Context> context;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
};

}  // namespace

TEST_CASE("gloo posts: Gloo's thread tells whose connection is gone", "[gloo]") {
    std::promise<std::pair<std::thread::id, std::uint64_t>> told;
    Unconnected rank([&](const GlooPost& post) {
        told.set_value({std::this_thread::get_id(), post.slot});
    });
    rank.posts->add(rank.send(7));
    const auto [thread, slot] = told.get_future().get();
    CHECK(thread != std::this_thread::get_id());
    CHECK(slot == 7);
}

TEST_CASE("gloo posts: once they are dropped none is being begun, and none will", "[gloo]") {
    std::promise<void> begun;
    std::atomic<bool> busy = false;
    std::atomic<int> told = 0;
    int told_before = 0;
    {
        Unconnected rank([&](const GlooPost&) {
            busy = true;
            if (told++ == 0) begun.set_value();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            busy = false;
        });
        for (std::uint64_t slot = 0; slot < 100; ++slot) rank.posts->add(rank.send(slot));
        begun.get_future().wait();
        rank.posts->drop();
        CHECK_FALSE(busy);
        told_before = told;
        rank.posts->add(rank.send(100));
    }
    CHECK(told == told_before);
    CHECK(told < 100);
}
