// advisor.hpp — the policies of a scenario for a world in any language: a line in, a line out.
//
// A world sends the lines that a decision log has of it, and gets the log's own lines back:
//
//     {"record":"question","event":{"hook":"on_event","kind":"clock"},"seen":{…}}
//     {"record":"committed","version":1}      or     {"record":"discarded","version":1,"why":"…"}
//
// What comes back begins with the header of the log and is a log (decision_log.hpp): a question
// with its number, what the policies answered and, where that is a change, the Plan they propose,
// which is committed or discarded before the next question. examples/advise has the fields.
#pragma once

#include <string>
#include <string_view>

#include "records/decision_log.hpp"
#include "records/logged_controller.hpp"

namespace ukemi::records {

class Advisor {
public:
    // InputError about `world`, where the lines come from, for a header whose policies ask an
    // oracle, or are none that the registry knows.
    Advisor(const DecisionLogHeader& header, std::string_view world);

    const std::string& header() const { return header_; }  // a line, with its end

    // The line, with its end, that follows from the world's next one. InputError (world:line:1) for
    // what is none of the three, or out of turn; nothing has been asked then. Keys that only the
    // log of a run has beside a question's own are passed over.
    std::string answer(std::string_view line);

private:
    void question(Fields& fields);

    DecisionLog log_;
    LoggedController asked_;
    std::string header_;
    std::size_t lines_ = 0;
};

}  // namespace ukemi::records
