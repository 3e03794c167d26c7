// JSON of requests.
#ifndef ESCALONA_SERVER_JSON_TEXT_H_
#define ESCALONA_SERVER_JSON_TEXT_H_

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace escalona::server {

// Parses a whole text. False: `wrong` says what is wrong, and at which byte, as "is not JSON: ...".
// An object that has a member twice is refused, too: programs differ in which of the two they take.
bool ParseJson(std::string_view text, boost::json::value& value, std::string& wrong);

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_JSON_TEXT_H_
