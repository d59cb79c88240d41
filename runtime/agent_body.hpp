// agent_body.hpp — the process of a worker that an agent has started on its machine.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "runtime/crew_state.hpp"

namespace ukemi::runtime {

class AgentBody final : public WorkerBody {
public:
    // The Crew outlives it.
    AgentBody(Crew::State& crew, std::uint32_t agent, std::uint32_t number)
        : crew_(&crew), agent_(agent), number_(number) {}
    ~AgentBody() override;  // the agent is told to end it
    AgentBody(const AgentBody&) = delete;
    AgentBody& operator=(const AgentBody&) = delete;

    pid_t id() const override { return -1; }
    int descriptor() const override { return -1; }
    void kill() override;
    std::optional<std::string> ended() override { return how_; }
    // The agent has said so, or is gone itself.
    void end(std::string how) {
        if (!how_) how_ = std::move(how);
    }

private:
    Crew::State* crew_;
    std::uint32_t agent_;
    std::uint32_t number_;  // as the agent calls it
    std::optional<std::string> how_;
};

}  // namespace ukemi::runtime
