INSERT INTO list(id, name) VALUES(1, 'home');
INSERT INTO todo(list, title) VALUES(1, 'read'), (1, 'write');
