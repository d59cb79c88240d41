// html_page.hpp — elements of a page that is HTML to browsers and XML to everything else.
//
// A page is a tree of pugixml, so text is text whatever it holds: what is written escapes it. Text
// from outside is added as one line (base/plain_text.hpp), or line by line.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace ukemi::analysis {

// At the end of the parent. The class may be empty: then there is none.
pugi::xml_node add_element(pugi::xml_node parent, const char* name,
                           std::string_view css_class = {});
pugi::xml_node add_text_element(pugi::xml_node parent, const char* name, std::string_view text,
                                std::string_view css_class = {});
void add_page_text(pugi::xml_node parent, std::string_view text);       // on one line
void add_breakable_text(pugi::xml_node parent, std::string_view text);  // also after each '+'
void add_page_lines(pugi::xml_node parent, std::string_view text);      // each of its lines on one
void add_page_attribute(pugi::xml_node element, const char* name, std::string_view value);

// An empty page: its <body>. Style and script hold none of < > &, which HTML would take as they
// are there and XML would not.
pugi::xml_node begin_page(pugi::xml_document& page, std::string_view title, const char* style,
                          const char* script);
std::string text_of_page(const pugi::xml_document& page);

}  // namespace ukemi::analysis
